import { renameSync, rmSync, symlinkSync, writeSync } from 'node:fs';
import { join } from 'node:path';

// A program that repeatedly replaces `folder` and `file` with links to the outside and back, until it is
// killed. Other processes may create new entries in the meantime, which the program removes.

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
    // A different process created or removed the entry. The next round repairs it.
  }
}

writeSync(1, 'swapping\n');
for (;;) {
  swap('folder', outside);
  swap('file', join(outside, 'file'));
}
