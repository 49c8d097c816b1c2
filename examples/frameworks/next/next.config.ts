import { join } from 'node:path';
import type { NextConfig } from 'next';

const config: NextConfig = {
  // These packages run in Node as they are.
  serverExternalPackages: ['@millrace/agent', '@millrace/server'],
  // Only in this repository, where the packages are links to folders beside this one.
  turbopack: { root: join(import.meta.dirname, '../../..') },
};

export default config;
