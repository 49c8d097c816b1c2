import {
  type Clock,
  type DefinedTool,
  defineTool,
  systemClock,
  type ToolContext,
  type ToolOutput,
} from '@millrace/agent';
import { z } from 'zod';
import type { Sandbox } from '../contract/sandbox.ts';
import { assertKnownOptions } from '../known-options.ts';
import type { CommandFiles } from '../rewind/command-files.ts';
import { describeSandbox } from '../sandbox/explain-failure.ts';
import { asksForMore, mayChangeGit, mayConnect } from '../sandbox/more-permissions.ts';
import type { UnaskedReading } from '../sandbox/unasked-reading.ts';
import type { BackgroundCommands } from './background/background-commands.ts';
import { endsInTime, startCommand, stopLate } from './background/start-command.ts';
import { type CollectedOutput, commandOutput } from './command-output.ts';
import { secretMask } from './mask-secrets.ts';
import { prepareCommand } from './prepare-command.ts';
import type { CommandOutcome } from './run-command.ts';
import type { ShellEnv } from './safe-env.ts';

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
   * Further variables whose values are masked if they look like secrets, for example keys that are stored in a
   * file. Default: only the variables of this process.
   */
  readonly maskedEnv?: Readonly<Record<string, string | undefined>> | undefined;
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
   * Records the files that commands change, so that a user can undo the changes. See `commandFiles`.
   * Default: the tool does not record changes.
   */
  readonly files?: CommandFiles | undefined;
  /**
   * The list of commands that continue while the model works. The model can then start commands with
   * `background: true`. Pass the same object to `readOutputTool`. Default: there are no such commands.
   */
  readonly background?: BackgroundCommands | undefined;
  /**
   * What happens to a command at its time limit. `stop`: it is stopped. `detach`: it continues in the
   * background, which needs `background`. Default: `stop`.
   */
  readonly onTimeout?: 'stop' | 'detach' | undefined;
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
  /**
   * If true, the command may change git repositories in the workspace and create new ones. The field exists only if
   * there is a sandbox. A line in which git does more than read has this permission without the field.
   */
  readonly change_git?: boolean | undefined;
  /** If true, the command runs outside of the sandbox. The field exists only if there is a sandbox. */
  readonly outside_sandbox?: boolean | undefined;
  /**
   * If true, the command continues after the call. The field exists only if the tool has `background`
   * commands.
   */
  readonly background?: boolean | undefined;
}

type Optional = 'env' | 'maskedEnv' | 'sandbox' | 'reading' | 'answers' | 'files' | 'background';
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
    ...{ background: true, onTimeout: true, maskedEnv: true },
  });
  const settings = settingsOf(options);
  const { sandbox } = settings;
  const about = sandbox && `\n${describeSandbox(sandbox.profile, sandbox.network)}`;
  return defineTool({
    name: 'bash',
    description: `Runs a command with ${settings.shell} in the workspace, without a terminal or input, and returns its output.
Each call starts a new shell: cd and variables do not persist. Processes that it leaves behind are stopped.${about ?? ''}`,
    input: schemaOf(settings),
    effects: 'external',
    afterCrash: 'fail',
    answers: settings.answers,
    maxOutputLength: settings.maxOutputLength,
    // The command comes before the model's description, because the description may be wrong.
    summarize: (input) => {
      const where = input.background === true ? ['IN THE BACKGROUND'] : [];
      const notes = [...(sandbox ? leavingNotes(input) : []), ...where, input.description].filter(
        (note) => note !== undefined,
      );
      return notes.length === 0 ? input.command : `${input.command}  # ${notes.join('; ')}`;
    },
    execute: (input, context) => executeCommand(input, context, settings),
  });
}

/** The part of the output that is reserved for notes to the model, in characters. */
const reservedForNotes = 1000;

async function executeCommand(
  input: BashInput,
  context: ToolContext,
  settings: Settings,
): Promise<ToolOutput> {
  const { background, clock, maxOutputLength, maxKeptBytes, onTimeout } = settings;
  const { command, background: isBackground = false } = input;
  const { session, signal, update, blobs } = context;
  const mask = settings.maskSecrets ? secretMask(process.env, settings.maskedEnv ?? {}) : undefined;
  if (isBackground && background !== undefined) {
    const { timeout_ms: timeoutMs } = input;
    const { id, release } = background.reserve(context);
    try {
      const ready = await prepareCommand(input, context, settings);
      const options = { command, timeoutMs, maxKeptBytes, mask, signal };
      return background.add({ ...(await startCommand(ready, options)), id }, context);
    } finally {
      release();
    }
  }
  const ready = await prepareCommand(input, context, settings);
  const timeoutMs = input.timeout_ms ?? settings.timeoutMs;
  const maxLength = Math.max(maxOutputLength - reservedForNotes, Math.floor(maxOutputLength / 2));
  const detaching = onTimeout === 'detach' ? background : undefined;
  const output = commandOutput({
    ...{ update, clock, maxLength, maxKeptBytes },
    mask: detaching === undefined ? mask : undefined,
  });
  try {
    let end: CommandOutcome;
    if (detaching === undefined) {
      end = await ready.run({ signal, timeoutMs, onOutput: output.add });
    } else {
      const own = { maxKeptBytes, mask, onOutput: output.add };
      const started = await startCommand(ready, { command, timeoutMs: undefined, signal, ...own });
      const ended = await endsInTime(started, { timeoutMs, signal, clock });
      if (ended === undefined && detaching.hasRoom(session)) {
        const before = `${(await output.end()).text.trimEnd()}\n[It takes longer than ${timeoutMs} ms]`;
        return detaching.add({ ...started, before }, context);
      }
      end = ended ?? (await stopLate(started));
      await started.output.close();
    }
    const printed = await output.end();
    const { whole } = printed;
    // An error is ignored, because the result must report that the command ran even if its output cannot be
    // stored.
    const blob = whole && (await blobs.put(whole).catch(() => undefined));
    const notes = ready.notes(end, printed.text);
    return describeCommand(end, printed, { whole: blob, timeoutMs, notes });
  } finally {
    await output.close();
  }
}

function leavingNotes(input: BashInput): readonly string[] {
  const more = asksForMore({ tool: 'bash', input });
  return [
    ...(more === 'outside' ? ['OUTSIDE THE SANDBOX'] : []),
    ...(mayConnect(more) ? ['WITH NETWORK'] : []),
    ...(mayChangeGit(more) ? ['MAY CHANGE GIT'] : []),
  ];
}

function schemaOf({ timeoutMs, maxTimeoutMs, sandbox, background }: Settings) {
  const always = z.object({
    command: z
      .string()
      .min(1)
      .max(100_000)
      .refine((text) => !text.includes('\0'), 'It contains a NUL character'),
    timeout_ms: z.int().min(1).max(maxTimeoutMs).optional().describe(`Default: ${timeoutMs}`),
    description: z.string().max(200).optional().describe('What it does, in a few words'),
  });
  const network = z.boolean().optional().describe('Run it with network. The user is asked');
  const outside = z
    .boolean()
    .optional()
    .describe('Run it outside the sandbox, only if it cannot work inside. The user is asked');
  const git = z
    .boolean()
    .optional()
    .describe('Let it change git repositories or create them. The user is asked');
  const goesOn = z.boolean().optional().describe('For servers and long work');
  const full = always.extend({
    ...{ network, change_git: git, outside_sandbox: outside, background: goesOn },
  });
  const isClosed = sandbox !== undefined && !sandbox.network;
  // The schema removes unavailable fields from the input.
  const left = {
    ...(!isClosed && { network: true as const }),
    ...(sandbox === undefined && { outside_sandbox: true as const, change_git: true as const }),
    ...(background === undefined && { background: true as const }),
  };
  return full.omit(left) as unknown as typeof full;
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
    maskedEnv: options.maskedEnv,
    env: options.env,
    sandbox: options.sandbox,
    reading: options.reading,
    answers: options.answers,
    files: options.files,
    background: options.background,
    onTimeout: options.onTimeout ?? 'stop',
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
    case 'stuck':
      return 'The sandbox stopped the command, because a file system call of Millrace waited for too long and Millrace could not check the folder. The command may have caused it';
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
