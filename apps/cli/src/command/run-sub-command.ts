import { loadConfig } from '../config/load-config.ts';
import type {
  BackupArgs,
  DiffArgs,
  DoctorArgs,
  EvalArgs,
  InspectArgs,
  ModelsArgs,
  ReplayArgs,
  ReportArgs,
  SessionsArgs,
  SqlArgs,
  TestArgs,
  VerifyArgs,
} from '../contract/args.ts';
import type { Host } from '../contract/host.ts';
import { resolveWorkFolder } from './paths.ts';
import { untilStopped } from './stop-signals.ts';

type SubArgs =
  | SessionsArgs
  | ReplayArgs
  | InspectArgs
  | DiffArgs
  | TestArgs
  | EvalArgs
  | SqlArgs
  | VerifyArgs
  | ReportArgs
  | ModelsArgs
  | DoctorArgs
  | BackupArgs;

/** Runs the commands that need no agent of the terminal. */
export async function runSubCommand(args: SubArgs, host: Host): Promise<number> {
  const { env, stdin, stdout, stderr, signal } = host;
  const cwd = await untilStopped(signal, resolveWorkFolder(args, host.cwd));
  const streams = { stdin, stdout, stderr, env, cwd, signal };
  if (args.command === 'doctor') {
    const { doctorCommand } = await import('../doctor/doctor-command.ts');
    return untilStopped(signal, doctorCommand({ args, ...streams }));
  }
  const config = await untilStopped(signal, loadConfig({ args, env, cwd }));
  switch (args.command) {
    case 'sessions': {
      const { sessionsCommand } = await import('../sessions/sessions-command.ts');
      return untilStopped(signal, sessionsCommand({ args, config, ...streams }));
    }
    case 'replay': {
      const { replayCommand } = await import('../replay/replay-command.ts');
      return replayCommand({ args, config, ...streams });
    }
    case 'models': {
      const { modelsCommand } = await import('../models/models-command.ts');
      return untilStopped(signal, modelsCommand({ args, config, ...streams }));
    }
    case 'backup':
    case 'restore': {
      const { backupCommand } = await import('../backup/backup-command.ts');
      return untilStopped(signal, backupCommand({ args, config, ...streams }));
    }
    case 'diff': {
      const { diffCommand } = await import('../diff/diff-command.ts');
      return untilStopped(signal, diffCommand({ args, config, ...streams }));
    }
    case 'test': {
      const { testCommand } = await import('../recorded/test-command.ts');
      return untilStopped(signal, testCommand({ args, config, ...streams }));
    }
    case 'eval': {
      const { evalCommand } = await import('../evals/eval-command.ts');
      // A signal stops the runs, so that the next call continues them.
      return evalCommand({ args, config, ...streams });
    }
    case 'sql': {
      const { sqlCommand } = await import('../sql/sql-command.ts');
      return untilStopped(signal, sqlCommand({ args, config, ...streams }));
    }
    case 'verify': {
      const { verifyCommand } = await import('../verify/verify-command.ts');
      return untilStopped(signal, verifyCommand({ args, config, ...streams }));
    }
    case 'report': {
      const { reportCommand } = await import('../recorded/report-command.ts');
      return untilStopped(signal, reportCommand({ args, config, ...streams }));
    }
    case 'inspect': {
      const { inspectCommand } = await import('../inspect/inspect-command.ts');
      return untilStopped(signal, inspectCommand({ args, config, ...streams }));
    }
  }
}
