import { mkdirSync, rmSync, writeFileSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { root } from './packages/published.ts';
import { outdatedUmbrellaFiles, umbrellaFiles } from './packages/umbrella.ts';

/**
 * Generates the subpaths of the package `millrace`. Run it after a package gets a new subpath or a
 * new optional peer dependency.
 */
const files = umbrellaFiles();
for (const path of outdatedUmbrellaFiles()) {
  const text = files.get(path);
  if (text === undefined) rmSync(join(root, path));
  else {
    mkdirSync(dirname(join(root, path)), { recursive: true });
    writeFileSync(join(root, path), text);
  }
  console.log(`${text === undefined ? 'deleted' : 'wrote'} ${path}`);
}
