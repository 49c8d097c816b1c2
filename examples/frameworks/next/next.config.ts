import { join } from 'node:path';
import type { NextConfig } from 'next';

const config: NextConfig = {
  // Node loads these packages directly, so Next.js does not bundle them.
  serverExternalPackages: ['@millrace/agent', '@millrace/server'],
  // Only this repository needs this option, because its packages are links to folders outside of
  // this folder.
  turbopack: { root: join(import.meta.dirname, '../../..') },
};

export default config;
