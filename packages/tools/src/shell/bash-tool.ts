import {
  type Clock,
  type DefinedTool,
  defineTool,
  systemClock,
  type ToolContext,
  type ToolOutput,
} from '@millrace/agent';
import { z } from 'zod';
import {
  type PreparedCommand,
  type Sandbox,
  SandboxError,
  type SandboxRequest,
} from '../contract/sandbox.ts';
import { protectGitLine } from '../git/protect-git-line.ts';
import { assertKnownOptions } from '../known-options.ts';
import type { CommandFiles } from '../rewind/command-files.ts';
import { describeSandbox, explainFailure } from '../sandbox/explain-failure.ts';
import { asksForMore, type UnaskedReading } from '../sandbox/unasked-reading.ts';
import { type CollectedOutput, commandOutput } from './command-output.ts';
import { secretMask } from './mask-secrets.ts';
import { type CommandOutcome, findShell, runCommand, shellCommand } from './run-command.ts';
import { type ShellEnv, safeEnv, traceEnv, withoutOwnLibraries } from './safe-env.ts';

/** Options of `bashTool`. */
export interface BashToolOptions {
  /**
   * The folder in which commands start. `root` is its real path. Without a sandbox, commands can leave the
   * folder.
   */
  readonly workspace: { readonly root: string };
  /** Time limit for commands that do not set one. Default: 2 minutes. */
  readonly timeoutMs?: number | undefined;
  /** Maximum time limit that a command may set. Default: 10 minutes. */
  readonly maxTimeoutMs?: number | undefined;
  /**
   * Time between SIGTERM and SIGKILL. It must be less than the time that an agent waits for its tools
   * (`toolGraceMs`). Default: 2 s.
   */
  readonly graceMs?: number | undefined;
  /** Maximum length of the output for the model, in characters. Default: 30,000. */
  readonly maxOutputLength?: number | undefined;
  /**
   * Maximum number of output bytes to store as a blob. They are stored only if the model does not get the
   * complete output. Default: 16 MiB.
   */
  readonly maxKeptBytes?: number | undefined;
  /**
   * Environment of the commands. Default: a fixed list of variables of this process, such as PATH, HOME and
   * LANG, without variables that look like secrets. The README contains the list.
   */
  readonly env?: ShellEnv | undefined;
  /**
   * If true, the tool masks secrets before the output is shown, stored and sent to the model. It masks keys
   * with a known form, private keys, passwords in URLs, and values of environment variables that look like
   * secrets. Default: true.
   */
  readonly maskSecrets?: boolean | undefined;
  /**
   * The sandbox that confines the commands. See `findSandbox`. Combine it with `approveInSandbox`, because
   * the model can then request to run a command outside of the sandbox. Default: commands are not confined.
   */
  readonly sandbox?: Sandbox | undefined;
  /**
   * Lets commands that only read run with fewer rights and without an approval. See `unaskedReading`. It
   * needs a sandbox. Default: all commands run with the profile of the sandbox.
   */
  readonly reading?: UnaskedReading | undefined;
  /**
   * The shell, as a path or a name. It must support `-c`. A name is searched in the system folders and on
   * `PATH`, but not in the workspace. Default: `bash`.
   */
  readonly shell?: string | undefined;
  /**
   * The built-in OpenAI tool that this tool implements. The model then cannot request the network or request
   * to leave the sandbox. Default: none; the tool is then a function for all providers.
   */
  readonly answers?: 'openai.shell' | 'openai.local_shell' | undefined;
  /**
   * Records the files that commands change, so that the changes can be taken back. See `commandFiles`.
   * Default: they are not recorded.
   */
  readonly files?: CommandFiles | undefined;
  /** The clock for time limits. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** The input of the tool `bash`. */
export interface BashInput {
  readonly command: string;
  /** Time limit in milliseconds. Default: the `timeoutMs` of the tool. */
  readonly timeout_ms?: number | undefined;
  /** A description of the command for the user. */
  readonly description?: string | undefined;
  /**
   * If true, the command runs with network access. The field exists only if there is a sandbox without
   * network access.
   */
  readonly network?: boolean | undefined;
  /** If true, the command runs outside of the sandbox. The field exists only if there is a sandbox. */
  readonly outside_sandbox?: boolean | undefined;
}

type Optional = 'env' | 'sandbox' | 'reading' | 'answers' | 'files';
type Settings = {
  readonly [Key in Exclude<keyof BashToolOptions, Optional>]-?: NonNullable<BashToolOptions[Key]>;
} & Pick<BashToolOptions, Optional>;

/**
 * Creates the tool `bash`, which runs commands in the workspace. A call ends only after all processes of the
 * command have ended.
 *
 * @example const bash = bashTool({ workspace: createWorkspace({ root: '.' }), timeoutMs: 60_000 });
 */
export function bashTool(options: BashToolOptions): DefinedTool<'bash', BashInput> {
  assertKnownOptions('bashTool', options, {
    ...{ workspace: true, timeoutMs: true, maxTimeoutMs: true, graceMs: true },
    ...{ maxOutputLength: true, maxKeptBytes: true, env: true, maskSecrets: true },
    ...{ sandbox: true, reading: true, shell: true, answers: true, files: true, clock: true },
  });
  const settings = settingsOf(options);
  const { sandbox } = settings;
  const about = sandbox && `\n${describeSandbox(sandbox.profile, sandbox.network)}`;
  return defineTool({
    name: 'bash',
    description: `Runs a command with ${settings.shell} in the workspace, without a terminal or input, and returns its output.
Each call starts a new shell: cd and variables do not persist. Background processes are stopped when the command ends.${about ?? ''}`,
    input: schemaOf(settings),
    effects: 'external',
    afterCrash: 'fail',
    answers: settings.answers,
    maxOutputLength: settings.maxOutputLength,
    // The command comes before the model's description, because the description may be wrong.
    summarize: (input) => {
      const notes = [...leavingNote(input), input.description].filter((note) => note !== undefined);
      return notes.length === 0 ? input.command : `${input.command}  # ${notes.join('; ')}`;
    },
    execute: (input, context) => executeCommand(input, context, settings),
  });
}

/** The part of the output that is reserved for notes to the model, in characters. */
const reservedForNotes = 1000;

async function executeCommand(
  input: BashInput,
  { signal, update, blobs, trace, idempotencyKey, recordFileChange }: ToolContext,
  settings: Settings,
): Promise<ToolOutput> {
  const { workspace, clock, graceMs, maxOutputLength, maxKeptBytes } = settings;
  const { command } = input;
  const timeoutMs = input.timeout_ms ?? settings.timeoutMs;
  const maxLength = Math.max(maxOutputLength - reservedForNotes, Math.floor(maxOutputLength / 2));
  const inherited = withoutOwnLibraries(process.env, workspace.root);
  const own = traceEnv(safeEnv(inherited, settings.env), trace);
  const env = await protectGitLine(command, own, workspace.root);
  const shell = await findShell(settings.shell, workspace.root, env['PATH']);
  const unasked = traceEnv(safeEnv(inherited), trace);
  const confinement = await confine(
    input,
    idempotencyKey,
    { env, unasked },
    { ...settings, shell },
  );
  const confined = confinement?.prepared;
  const mask = settings.maskSecrets ? secretMask(process.env) : undefined;
  const output = commandOutput({ update, clock, maxLength, maxKeptBytes, mask });
  const run = { shell, cwd: workspace.root, signal, clock, timeoutMs, graceMs, confined };
  let happened: readonly string[] = [];
  try {
    const files = canChangeFiles(confinement) ? settings.files : undefined;
    const recordChanges = await files?.start({ blobs, recordFileChange });
    const end = await runCommand(command, { ...run, env, onOutput: output.add }).finally(
      async () => {
        happened = (await confined?.finish()) ?? [];
        await recordChanges?.();
      },
    );
    const printed = await output.end();
    const { whole } = printed;
    // An error is ignored, because the result must report that the command ran even if its output cannot be
    // stored.
    const blob = whole && (await blobs.put(whole).catch(() => undefined));
    const notes =
      confinement === undefined ? [] : sandboxNotes(command, end, printed, confinement, happened);
    return describeCommand(end, printed, { whole: blob, timeoutMs, notes });
  } finally {
    await output.close();
  }
}

interface Confinement {
  readonly prepared: PreparedCommand;
  readonly view: NonNullable<SandboxRequest['view']>;
  readonly network: boolean;
}

function canChangeFiles(confinement: Confinement | undefined): boolean {
  return confinement === undefined || confinement.view === 'workspace';
}

/** The environments of a command. */
interface CommandEnv {
  readonly env: Readonly<Record<string, string>>;
  /**
   * The environment of a command without an approval. It omits the variables in `allow`, because they are
   * often secrets, and `jq -n env` would print them.
   */
  readonly unasked: Readonly<Record<string, string>>;
}

/** Prepares the sandbox for a command. Returns undefined if the command runs without a sandbox. */
async function confine(
  input: BashInput,
  key: string,
  { env, unasked }: CommandEnv,
  { sandbox, reading, shell, workspace: { root } }: Settings,
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
  const view = chosen?.place === 'closed' ? 'closed' : sandbox.profile;
  const { pin, protect, protectNew } = chosen?.place === 'profile' ? chosen : {};
  const network = view !== 'closed' && (sandbox.network || more === 'network');
  const command = shellCommand(input.command, { shell });
  const prepared = await sandbox.prepare({
    ...{ root, command, view, network, hide: chosen?.hide, pin, protect, protectNew },
    env: view === 'closed' ? unasked : env,
  });
  return { prepared, view, network };
}

function cannotConfine(root: string): SandboxError {
  const message =
    'The command did not run: it was allowed without a question because the sandbox could confine it, but the files or the rules have changed since. Run it again, so that the user can be asked';
  return new SandboxError('cannot_confine', message, { path: root });
}

function leavingNote(input: BashInput): readonly string[] {
  switch (asksForMore({ tool: 'bash', input })) {
    case 'outside':
      return ['OUTSIDE THE SANDBOX'];
    case 'network':
      return ['WITH NETWORK'];
    case undefined:
      return [];
  }
}

function sandboxNotes(
  command: string,
  end: CommandOutcome,
  { text }: CollectedOutput,
  { view, network }: Confinement,
  happened: readonly string[],
): readonly string[] {
  const explained =
    end.reason === 'exited'
      ? explainFailure({ command, output: text, exitCode: end.exitCode, view, network })
      : undefined;
  return explained === undefined ? happened : [...happened, explained];
}

function schemaOf({ timeoutMs, maxTimeoutMs, sandbox }: Settings) {
  const always = z.object({
    command: z
      .string()
      .min(1)
      .max(100_000)
      .refine((text) => !text.includes('\0'), 'It contains a NUL character'),
    timeout_ms: z.int().min(1).max(maxTimeoutMs).optional().describe(`Default: ${timeoutMs}`),
    description: z
      .string()
      .max(200)
      .optional()
      .describe('What it does, in a few words for the user'),
  });
  const network = z
    .boolean()
    .optional()
    .describe('Run it with network, inside the sandbox. The user is asked');
  const outside = z
    .boolean()
    .optional()
    .describe('Run it outside the sandbox, only if it cannot work inside. The user is asked');
  const full = always.extend({ network, outside_sandbox: outside });
  const isClosed = sandbox !== undefined && !sandbox.network;
  // The schema removes unavailable fields from the input.
  const offered = isClosed ? full : sandbox ? full.omit({ network: true }) : always;
  return offered as typeof full;
}

function settingsOf(options: BashToolOptions): Settings {
  const { timeoutMs = 120_000 } = options;
  return {
    workspace: options.workspace,
    timeoutMs,
    maxTimeoutMs: Math.max(options.maxTimeoutMs ?? 600_000, timeoutMs),
    graceMs: options.graceMs ?? 2000,
    maxOutputLength: options.maxOutputLength ?? 30_000,
    maxKeptBytes: options.maxKeptBytes ?? 16_777_216,
    maskSecrets: options.maskSecrets ?? true,
    env: options.env,
    sandbox: options.sandbox,
    reading: options.reading,
    answers: options.answers,
    files: options.files,
    shell: options.shell ?? 'bash',
    clock: options.clock ?? systemClock,
  };
}

type Blob = Awaited<ReturnType<ToolContext['blobs']['put']>>;

interface DescribeOptions {
  /** The stored output. Undefined if the text contains the complete output. */
  readonly whole: Blob | undefined;
  readonly timeoutMs: number;
  /** More notes for the model. */
  readonly notes: readonly string[];
}

/** Converts the outcome of a command to a tool output. */
function describeCommand(
  end: CommandOutcome,
  output: CollectedOutput,
  { whole, timeoutMs, notes: further }: DescribeOptions,
): ToolOutput {
  const { exitCode, signal, reason } = end;
  const isError = reason !== 'exited' || exitCode !== 0;
  const notes = [
    endNote(end, timeoutMs),
    wholeOutputNote(output, whole),
    end.leftRunning > 0
      ? `Background processes that were stopped: ${end.leftRunning}. Start a process with setsid to keep it running.`
      : undefined,
    end.unstopped > 0 ? `Processes that could not be stopped: ${end.unstopped}.` : undefined,
    ...further,
  ].filter((note) => note !== undefined);
  const text = [output.text.trimEnd() || 'No output.', ...notes.map((note) => `[${note}]`)];
  const wholeOutput = whole && { hash: whole.hash, length: whole.length };
  const value = {
    exitCode,
    signal,
    timedOut: reason === 'timed_out',
    aborted: reason === 'aborted',
    outputLength: output.length,
    droppedBytes: output.dropped,
    ...(wholeOutput && { wholeOutput }),
  };
  return {
    output: {
      text: text.join('\n'),
      value,
      isError,
      // The attachment refers to the blob, because a blob without a reference may be deleted. The metadata
      // marks the blob as the complete output, so the blob is not sent to the model.
      ...(whole && { attachments: [blobAttachment(whole)] }),
      ...(wholeOutput && { metadata: { wholeOutput } }),
    },
  };
}

function blobAttachment({ hash, length }: Blob) {
  const source = { type: 'blob', hash, length } as const;
  return { kind: 'file', name: 'output.txt', mimeType: 'text/plain', source } as const;
}

function endNote(
  { exitCode, signal, reason }: CommandOutcome,
  timeoutMs: number,
): string | undefined {
  switch (reason) {
    case 'timed_out':
      return `It took longer than ${timeoutMs} ms and was stopped. Set a larger timeout_ms, or make the command do less`;
    case 'aborted':
      return 'It was aborted before it finished';
    case 'blocked':
      return 'It was stopped by the sandbox';
    case 'exited':
      if (signal !== null) return `It was killed by ${signal}`;
      return exitCode === 0 ? undefined : `Exit code ${exitCode}`;
  }
}

function wholeOutputNote(
  { whole: bytes, dropped }: CollectedOutput,
  whole: Blob | undefined,
): string | undefined {
  if (bytes === undefined) return undefined;
  if (whole === undefined) return 'The whole output could not be stored';
  const what = dropped === 0 ? 'The whole output' : `The output except its last ${dropped} bytes`;
  return `${what} is blob ${whole.hash}, ${whole.length} bytes`;
}
