import { renameSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

// A process that swaps `folder` and `file` in a folder for links to outside and back, until it is killed.
// Others may make new ones where these are away; then it removes those.

const [root = '', outside = ''] = process.argv.slice(2);

function swap(name: string, target: string): void {
  const [path, kept] = [join(root, name), join(root, `${name}-kept`)];
  quietly(() => renameSync(path, kept));
  quietly(() => symlinkSync(target, path));
  quietly(() => rmSync(path, { recursive: true }));
  quietly(() => renameSync(kept, path));
}

function quietly(step: () => void): void {
  try {
    step();
  } catch {
    // Somebody else made or removed it. The next round mends that.
  }
}

writeSync(1, 'swapping\n');
for (;;) {
  swap('folder', outside);
  swap('file', join(outside, 'file'));
}
