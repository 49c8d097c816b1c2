import { readFileSync } from 'node:fs';

/** Of the package that this file is in, from source and when it is built. */
export function version(): string {
  const manifest = new URL('../package.json', import.meta.url);
  return (JSON.parse(readFileSync(manifest, 'utf8')) as { readonly version: string }).version;
}
