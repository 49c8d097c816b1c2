import { spawnSync } from 'node:child_process';
import { cpSync } from 'node:fs';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { buildOnce } from '../../../../scripts/process-folder.ts';

const root = fileURLToPath(new URL('../../../../', import.meta.url));

/**
 * Builds the command as it is published, once for all tests of a run. Returns its path. The built
 * command starts in half the time of the sources. A fresh clone has no built command. Rebuilding in
 * place would break a running command.
 */
export function builtProgram(): string {
  return join(buildOnce('millrace-program', build), 'bundle/main.js');
}

function build(folder: string): void {
  // The program reads its version from the folder above the bundle.
  cpSync(join(root, 'apps/cli/package.json'), join(folder, 'package.json'));
  const script = join(root, 'scripts/bundle-cli.ts');
  const { status, stderr } = spawnSync(process.execPath, [script, join(folder, 'bundle')], {
    encoding: 'utf8',
  });
  if (status !== 0 || stderr !== '') throw new Error(`The program cannot be built:\n${stderr}`);
}
