import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { processFolder } from '../../../../scripts/process-folder.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

let built: string | undefined;

/**
 * Builds the command as it is published, which starts in half the time of its sources. Each test
 * process builds its own copy: a fresh clone has none, and a rebuild would break a running one.
 */
export function builtProgram(): string {
  built ??= build();
  return built;
}

function build(): string {
  const folder = processFolder('millrace-program');
  // The program reads its version from the folder above the bundle.
  cpSync(join(root, 'apps/cli/package.json'), join(folder, 'package.json'));
  const script = join(root, 'scripts/bundle-cli.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, join(folder, 'bundle')], {
    encoding: 'utf8',
  });
  if (status !== 0) throw new Error(`The program cannot be built:\n${stderr}`);
  return join(folder, 'bundle/main.js');
}
