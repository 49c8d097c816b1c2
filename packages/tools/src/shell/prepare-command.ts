import type { Clock, ToolContext } from '@millrace/agent';
import {
  type PreparedCommand,
  type Sandbox,
  SandboxError,
  type SandboxRequest,
} from '../contract/sandbox.ts';
import { protectReadingLine } from '../git/protect-reading-line.ts';
import type { CommandFiles } from '../rewind/command-files.ts';
import { explainFailure } from '../sandbox/explain-failure.ts';
import { asksForMore, mayChangeGit, mayConnect } from '../sandbox/more-permissions.ts';
import { confinementOf, type UnaskedReading } from '../sandbox/unasked-reading.ts';
import { type CommandOutcome, findShell, runCommand, shellCommand } from './run-command.ts';
import { type ShellEnv, safeEnv, traceEnv, withoutOwnLibraries } from './safe-env.ts';

/** The settings of all commands of a tool. */
export interface CommandSettings {
  readonly workspace: { readonly root: string };
  readonly graceMs: number;
  readonly env?: ShellEnv | undefined;
  readonly sandbox?: Sandbox | undefined;
  readonly reading?: UnaskedReading | undefined;
  readonly shell: string;
  readonly files?: CommandFiles | undefined;
  readonly clock: Clock;
}

/** A command of the model. */
interface GivenCommand {
  readonly command: string;
  readonly network?: boolean | undefined;
  readonly change_git?: boolean | undefined;
  readonly outside_sandbox?: boolean | undefined;
}

interface RunOptions {
  /** Stops the command. */
  readonly signal: AbortSignal;
  /** Time limit in milliseconds. Default: none. */
  readonly timeoutMs?: number | undefined;
  /** Called with the output, in order. A returned promise delays the next read. */
  readonly onOutput: (bytes: Uint8Array) => Promise<void> | undefined;
  /** Called when the program has started. Default: none. */
  readonly onStart?: (() => void) | undefined;
  /**
   * True if the changed files are on the log when `run` resolves. A command in the background outlives its
   * call, so the log says only that it can change files. Default: true.
   */
  readonly recordsChanges?: boolean | undefined;
}

/** A command with its environment and its sandbox. The caller must call `run` exactly once. */
export interface ReadyCommand {
  /** Runs the command. Resolves when all its processes have ended. */
  run(options: RunOptions): Promise<CommandOutcome>;
  /** Returns sentences for the model about the sandbox. Call it after the end of the command. */
  notes(end: CommandOutcome, output: string): readonly string[];
}

/**
 * Prepares a command. Commands in the foreground and in the background use it, so that both have the same
 * environment, sandbox and guards.
 */
export async function prepareCommand(
  input: GivenCommand,
  { trace, idempotencyKey, blobs, recordFileChange }: ToolContext,
  settings: CommandSettings,
): Promise<ReadyCommand> {
  const { workspace, clock, graceMs } = settings;
  const { command } = input;
  const inherited = withoutOwnLibraries(process.env, workspace.root);
  const own = traceEnv(safeEnv(inherited, settings.env), trace);
  const env = await protectReadingLine(command, own, workspace.root);
  const shell = await findShell(settings.shell, workspace.root, env['PATH']);
  const fewer = traceEnv(safeEnv(inherited), trace);
  const unasked = await protectReadingLine(command, fewer, workspace.root);
  const confinement = await confine(
    input,
    idempotencyKey,
    { env, unasked },
    { ...settings, shell },
  );
  const confined = confinement?.prepared;
  let happened: readonly string[] = [];
  return {
    async run({ recordsChanges = true, ...options }) {
      const run = { shell, cwd: workspace.root, clock, graceMs, confined, env };
      const files = canChangeFiles(confinement) ? settings.files : undefined;
      const recordChanges = await files?.start({ blobs, recordFileChange });
      // The file system has the change before the command can print the new content.
      const onOutput: RunOptions['onOutput'] = (bytes) =>
        confined?.isExposed?.() === true ? undefined : options.onOutput(bytes);
      return runCommand(command, { ...run, ...options, onOutput }).finally(async () => {
        happened = (await confined?.finish()) ?? [];
        if (recordsChanges) await recordChanges?.();
      });
    },
    notes: (end, output) =>
      confinement === undefined ? [] : sandboxNotes(command, end, output, confinement, happened),
  };
}

interface Confinement {
  readonly prepared: PreparedCommand;
  readonly view: NonNullable<SandboxRequest['view']>;
  readonly network: boolean;
  readonly changesGit: boolean;
}

function canChangeFiles(confinement: Confinement | undefined): boolean {
  return confinement === undefined || confinement.view === 'workspace';
}

/** The environments of a command. */
interface CommandEnv {
  readonly env: Readonly<Record<string, string>>;
  /**
   * The environment of a command that nobody approved: a command that only reads, or a command that a mode, a
   * prefix rule or an earlier approval of a prefix allowed. It omits the variables in `allow` and `set`, because
   * they are often secrets, and the command could print them.
   */
  readonly unasked: Readonly<Record<string, string>>;
}

/** Prepares the sandbox for a command. Returns undefined if the command runs without a sandbox. */
async function confine(
  input: GivenCommand,
  key: string,
  { env, unasked }: CommandEnv,
  { sandbox, reading, shell, workspace: { root } }: CommandSettings,
): Promise<Confinement | undefined> {
  const call = { tool: 'bash', input };
  const more = asksForMore(call);
  if (sandbox === undefined) return undefined;
  if (more === 'outside') {
    // The command may run git, which must not use an unchecked repository of an earlier command.
    await sandbox.settled();
    return undefined;
  }
  const chosen = await reading?.placeOf(call, key);
  if (chosen?.place === 'refused') throw cannotConfine(root);
  const confinement = chosen === undefined ? {} : confinementOf(chosen);
  const { view = sandbox.profile } = confinement;
  // Without `reading`, a person approves each command.
  const getsEnv = chosen === undefined || (chosen.place === 'profile' && chosen.getsEnv === true);
  const network = view !== 'closed' && (sandbox.network || mayConnect(more));
  const command = shellCommand(input.command, { shell });
  const prepared = await sandbox.prepare({
    ...{ ...confinement, root, command, view, network, changesGit: mayChangeGit(more) },
    // The policy has judged the repositories, and another command could change them now.
    isAlone: mayChangeGit(more) && !getsEnv,
    env: getsEnv ? env : unasked,
  });
  return { prepared, view, network, changesGit: mayChangeGit(more) };
}

function cannotConfine(root: string): SandboxError {
  const message =
    'The command did not run: it was allowed without a question because the sandbox could confine it, but the files or the rules have changed since. Run it again, so that the user can be asked';
  return new SandboxError('cannot_confine', message, { path: root });
}

function sandboxNotes(
  command: string,
  end: CommandOutcome,
  output: string,
  { view, network, changesGit }: Confinement,
  happened: readonly string[],
): readonly string[] {
  const explained =
    end.reason === 'exited'
      ? explainFailure({ command, output, exitCode: end.exitCode, view, network, changesGit })
      : undefined;
  return explained === undefined ? happened : [...happened, explained];
}
