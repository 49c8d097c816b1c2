import {
  type Clock,
  type DefinedTool,
  defineTool,
  systemClock,
  type ToolContext,
  type ToolOutput,
} from '@millrace/agent';
import { z } from 'zod';
import { protectGitLine } from '../git/protect-git-line.ts';
import { type CollectedOutput, commandOutput } from './command-output.ts';
import { type CommandOutcome, runCommand } from './run-command.ts';
import { type ShellEnv, safeEnv, traceEnv } from './safe-env.ts';

/** Options of `bashTool`. */
export interface BashToolOptions {
  /**
   * Commands start in this folder. They are not confined to it: use a permission policy to control
   * what they may do.
   */
  readonly workspace: { readonly root: string };
  /** Time limit for commands that do not set one. Default: 2 minutes. */
  readonly timeoutMs?: number | undefined;
  /** Maximum time limit that a command may set. Default: 10 minutes. */
  readonly maxTimeoutMs?: number | undefined;
  /**
   * Time between SIGTERM and SIGKILL. Keep it below the time that an agent waits for its tools
   * (`toolGraceMs`). Default: 2 s.
   */
  readonly graceMs?: number | undefined;
  /** Maximum length of the output for the model, in characters. Default: 30,000. */
  readonly maxOutputLength?: number | undefined;
  /**
   * Maximum number of bytes stored as a blob if the model does not get the whole output. Default:
   * 16 MiB.
   */
  readonly maxKeptBytes?: number | undefined;
  /**
   * Environment of the commands. Default: all variables of this process except those that look like
   * secrets.
   */
  readonly env?: ShellEnv | undefined;
  /** The shell, which must support `-c`. Default: `bash`. */
  readonly shell?: string | undefined;
  /** The clock for time limits. Default: the system clock. */
  readonly clock?: Clock | undefined;
}

/** The input of the tool `bash`. */
export interface BashInput {
  readonly command: string;
  /** Time limit in milliseconds. Default: the `timeoutMs` of the tool. */
  readonly timeout_ms?: number | undefined;
  /** What the command does, shown to the user. */
  readonly description?: string | undefined;
}

type Settings = {
  readonly [Key in Exclude<keyof BashToolOptions, 'env'>]-?: NonNullable<BashToolOptions[Key]>;
} & Pick<BashToolOptions, 'env'>;

/**
 * Creates the tool `bash`, which runs commands in the workspace. A call ends only after all
 * processes that the command started have ended.
 *
 * @example const bash = bashTool({ workspace: createWorkspace({ root: '.' }), timeoutMs: 60_000 });
 */
export function bashTool(options: BashToolOptions): DefinedTool<'bash', BashInput> {
  const settings = settingsOf(options);
  return defineTool({
    name: 'bash',
    description: `Runs a command with ${settings.shell} in the workspace, without a terminal or input, and returns its output.
Each call starts a new shell: cd and variables do not persist. Background processes are stopped when the command ends.`,
    input: schemaOf(settings),
    effects: 'external',
    replay: 'never',
    maxOutputLength: settings.maxOutputLength,
    // The command itself comes first, because the description by the model may be wrong.
    summarize: ({ command, description }) =>
      description === undefined ? command : `${command}  # ${description}`,
    execute: (input, context) => executeCommand(input, context, settings),
  });
}

/** Part of the output length that is reserved for notes. */
const reservedForNotes = 1000;

async function executeCommand(
  { command, timeout_ms: timeoutMs }: BashInput,
  { signal, update, blobs, trace }: ToolContext,
  settings: Settings,
): Promise<ToolOutput> {
  const { workspace, shell, clock, graceMs, maxOutputLength, maxKeptBytes } = settings;
  const limitMs = timeoutMs ?? settings.timeoutMs;
  const maxLength = Math.max(maxOutputLength - reservedForNotes, Math.floor(maxOutputLength / 2));
  const output = commandOutput({ update, clock, maxLength, maxKeptBytes });
  try {
    const run = { shell, cwd: workspace.root, signal, clock, timeoutMs: limitMs, graceMs };
    const own = traceEnv(safeEnv(process.env, settings.env), trace);
    const env = await protectGitLine(command, own, workspace.root);
    const end = await runCommand(command, { ...run, env, onOutput: output.add });
    const printed = await output.end();
    const { whole } = printed;
    // The result must say that the command ran, even if its output cannot be stored.
    const blob = whole && (await blobs.put(whole).catch(() => undefined));
    return describeCommand(end, printed, blob, limitMs);
  } finally {
    await output.close();
  }
}

function schemaOf({ timeoutMs, maxTimeoutMs }: Settings) {
  return z.object({
    command: z
      .string()
      .min(1)
      .max(100_000)
      .refine((text) => !text.includes('\0'), 'It contains a NUL character'),
    timeout_ms: z
      .int()
      .min(1)
      .max(maxTimeoutMs)
      .optional()
      .describe(`Time limit in milliseconds. Default: ${timeoutMs}`),
    description: z
      .string()
      .max(200)
      .optional()
      .describe('What the command does, in a few words for the user'),
  });
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
    env: options.env,
    shell: options.shell ?? 'bash',
    clock: options.clock ?? systemClock,
  };
}

type Blob = Awaited<ReturnType<ToolContext['blobs']['put']>>;

/** Converts the outcome of a command into a tool output. */
function describeCommand(
  end: CommandOutcome,
  output: CollectedOutput,
  whole: Blob | undefined,
  timeoutMs: number,
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
      // A blob without a reference may be deleted, so the attachment refers to it. The metadata
      // marks it as the whole output, which is not sent to the model.
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
