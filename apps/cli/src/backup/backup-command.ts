import { resolve } from 'node:path';
import type { BackupArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import type { Env, Host } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { Output } from '../print/output.ts';
import type { BackupSummary } from './backup-file.ts';
import { backupTarget } from './backup-target.ts';

interface BackupContext {
  readonly args: BackupArgs;
  readonly config: Pick<Config, 'store'>;
  readonly env: Env;
  readonly cwd: string;
  readonly stdout: Host['stdout'];
}

/** Runs `millrace backup` and `millrace restore`. */
export async function backupCommand(context: BackupContext): Promise<number> {
  const { args, config, env, cwd, stdout } = context;
  const target = backupTarget(args, config, { env, cwd });
  const path = resolve(cwd, args.file);
  const output = new Output(stdout);
  if (args.command === 'backup') {
    const { writeBackup } = await import('./write-backup.ts');
    const summary = await writeBackup(target, path);
    await output.write(`Backed up ${contentsOf(summary)} of ${target.name} to ${args.file}\n`);
    return exitCodes.done;
  }
  const { restoreBackup } = await import('./restore-backup.ts');
  const summary = await restoreBackup({ path, target, replace: args.replace });
  const when = new Date(summary.createdAt).toISOString();
  await output.write(
    `Restored ${contentsOf(summary)} of ${when} into ${target.name}. Clients read everything again\n`,
  );
  return exitCodes.done;
}

function contentsOf({ kind, sessions, blobs, rows }: BackupSummary): string {
  const counted = (count: number, what: string) => `${count} ${what}${count === 1 ? '' : 's'}`;
  const parts = [counted(sessions, 'session'), counted(blobs, 'blob')];
  return [...parts, ...(kind === 'server' ? [counted(rows, 'row')] : [])].join(', ');
}
