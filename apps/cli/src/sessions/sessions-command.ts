import type { Clock } from '@millrace/agent';
import type { SessionsArgs } from '../contract/args.ts';
import type { Config } from '../contract/config.ts';
import type { Env } from '../contract/host.ts';
import { exitCodes } from '../exit-code.ts';
import { Output, type OutputStream } from '../print/output.ts';
import type { InputStream } from '../print/piped-input.ts';
import { withStore } from '../store/open-store.ts';
import { sessionNames } from '../store/session-names.ts';
import { deleteSessions } from './delete-sessions.ts';
import { exportSessions } from './export-sessions.ts';
import { importSessions } from './import-sessions.ts';
import type { SessionsContext } from './sessions-context.ts';
import { listSessions, showSession } from './show-sessions.ts';

export interface SessionsCommandOptions {
  readonly args: SessionsArgs;
  readonly config: Pick<Config, 'store'>;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Env;
  readonly cwd: string;
  readonly signal: AbortSignal;
  readonly clock?: Clock | undefined;
  /** The folder of the built web page. Default: that of this program. */
  readonly page?: string | undefined;
}

/** Runs `millrace sessions`. It lists, shows, deletes, exports, imports or pins sessions. */
export async function sessionsCommand(options: SessionsCommandOptions): Promise<number> {
  const { args, stdin, stdout, stderr, cwd, env, signal, clock, page } = options;
  const output = new Output(stdout);
  const notes = new Output(stderr, { name: 'standard error' });
  const names = sessionNames(options.config, env);
  const mustExist = args.action !== 'import';
  const code = await withStore({ ...options, mustExist }, ({ log }) =>
    runAction({ args, log, names, output, notes, stdin, cwd, env, signal, clock, page }),
  );
  if (output.failure?.code === 'cannot_write') throw output.failure;
  return code;
}

async function runAction(context: SessionsContext): Promise<number> {
  switch (context.args.action) {
    case 'list':
      await listSessions(context);
      return exitCodes.done;
    case 'show':
      await showSession(context);
      return exitCodes.done;
    case 'delete':
      return deleteSessions(context);
    case 'export':
      await exportSessions(context);
      return exitCodes.done;
    case 'import':
      return importSessions(context);
    case 'pin': {
      const { pinSessionFile } = await import('../recorded/pin-session-file.ts');
      await pinSessionFile(context);
      return exitCodes.done;
    }
  }
}
