import { join } from 'node:path';
import type { NextConfig } from 'next';

const config: NextConfig = {
  // Node loads these packages directly, so Next.js does not bundle them.
  serverExternalPackages: ['@millrace/agent', '@millrace/server'],
  // This option is needed only in this repository, where the packages are links to folders outside
  // of this one.
  turbopack: { root: join(import.meta.dirname, '../../..') },
};

export default config;
