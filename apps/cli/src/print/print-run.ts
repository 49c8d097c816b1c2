import { branchSession, type Observer, type Run, type RunResult } from '@millrace/agent';
import type { Log } from '@millrace/log';
import type { Clock } from '@millrace/providers';
import { callsOfMessage } from '../agent/unasked-calls.ts';
import { commandHint, type PlaceFlags, resumeHint } from '../args/command-hint.ts';
import type { BuiltAgent, ChosenModel } from '../contract/agent.ts';
import type { PrintArgs, SessionChoice } from '../contract/args.ts';
import { UsageError } from '../contract/errors.ts';
import type { Env } from '../contract/host.ts';
import { exitCodeOf, exitCodes } from '../exit-code.ts';
import { expandPrompt } from '../extensions/slash-prompts.ts';
import { readMentionedFiles } from '../input/attachments/mentioned-files.ts';
import { assertOwnSession, refusalToResume } from '../store/own-session.ts';
import {
  findSession,
  type SessionPlace,
  type SessionSummary,
  userItem,
} from '../store/session-summaries.ts';
import { oneLine } from '../text/cells/printable.ts';
import { AnswerStream } from './answer-stream.ts';
import { closingMessages } from './closing-message.ts';
import { hasColor, Notes, Output, type OutputStream } from './output.ts';
import { readOutputSchema } from './output-schema.ts';
import { approvePending, pendingApprovals } from './pending-approvals.ts';
import { createRunInput, type InputStream, readPipedInput, waitingMessage } from './piped-input.ts';
import {
  answerPrinter,
  jsonPrinter,
  type Printer,
  type PrinterOptions,
  Progress,
  textPrinter,
  valuePrinter,
} from './printer.ts';

export interface PrintRunOptions {
  readonly args: PrintArgs & { readonly verbose?: boolean | undefined };
  /** The agent. It must park the run when a call needs approval, because no user is present. */
  readonly built: Pick<BuiltAgent, 'agent' | 'problems'> &
    Partial<
      Pick<
        BuiltAgent,
        | 'with'
        | 'tools'
        | 'allows'
        | 'mode'
        | 'extensions'
        | 'onNotice'
        | 'background'
        | 'runUnasked'
      >
    >;
  readonly log: Log;
  readonly chosen: Pick<ChosenModel, 'why' | 'isDemo' | 'isGuess'> &
    Partial<Pick<ChosenModel, 'label' | 'provider'>>;
  readonly stdin: InputStream;
  readonly stdout: OutputStream;
  readonly stderr: OutputStream;
  readonly env: Env;
  readonly cwd: string;
  /** Stops the run. The text up to this point is stored. */
  readonly signal?: AbortSignal | undefined;
  readonly clock?: Clock | undefined;
  /** Observers of the run of a branch, in addition to those of the agent. Default: none. */
  readonly observers?: readonly Observer[] | undefined;
  /**
   * False if the session is deleted after the run. In this case, no resume command is printed.
   * Default: true.
   */
  readonly isKept?: boolean | undefined;
}

/**
 * Runs the agent for one answer, for scripts. Standard output contains only the answer. With
 * `--stream all`, it contains all text of the model. The exit code tells how the run ended.
 * Resolves when the run has ended, even after an abort or a closed pipe. Throws a `UsageError` if
 * there is no prompt and no work.
 */
export async function printRun(options: PrintRunOptions): Promise<number> {
  const { args, stdout, log, signal, isKept = true } = options;
  const outputClosed = new AbortController();
  const output = new Output(stdout, { onFailure: ({ message }) => outputClosed.abort(message) });
  const answer = new AnswerStream();
  const notes = createNotes(options, answer);
  const stop = AbortSignal.any([outputClosed.signal, ...(signal === undefined ? [] : [signal])]);
  const run = await startRun(options, notes, stop);
  if (run === undefined) {
    await notes.write('Stopped before the run started');
    return exitCodes.aborted;
  }
  const printer = printerFor(args, answer, { output, notes });
  await printEvents(run, { printer, notes, output });
  const result = await run.result;
  await printer.end(result);
  await endCommands(options, result, notes);
  // Only the program of the session can continue a branch of its agent.
  const resume = isKept && args.agents === undefined ? resumeHint(args, result.session) : undefined;
  await printClosing(result, { log, notes, output, resume });
  if (args.branch !== undefined && (await log.info(result.session)) !== undefined)
    await notes.write(
      `Compare the branch with its session: ${commandHint(args, 'diff', result.session)}`,
    );
  return output.failure?.code === 'cannot_write' ? exitCodes.error : exitCodeOf(result.stop);
}

/** Ends the background commands of the run, because nobody reads their output after it. */
async function endCommands(
  { built }: PrintRunOptions,
  { session }: RunResult,
  notes: Notes,
): Promise<void> {
  const ended = (await built.background?.end(session)) ?? [];
  if (ended.length === 0) return;
  const names = ended.map(({ id, command }) => `${id} (${oneLine(command, 60)})`).join(', ');
  await notes.write(`Background commands that ended with the run: ${names}`);
}

function createNotes({ stdout, stderr, args, env }: PrintRunOptions, answer: AnswerStream): Notes {
  const isShared = stdout.isTTY === true && stderr.isTTY === true;
  return new Notes(stderr, {
    hasColor: hasColor(stderr, { env, color: args.color }),
    showDetails: stderr.isTTY === true || args.verbose === true,
    isMidLine: () => isShared && !answer.isLineStart,
  });
}

/** Starts the run. Returns undefined if the signal aborts before the run starts. */
async function startRun(
  options: PrintRunOptions,
  notes: Notes,
  signal: AbortSignal,
): Promise<Run | undefined> {
  const { args, log, stdin, cwd, clock } = options;
  const { outputSchema: file } = args;
  if (args.branch !== undefined) return startBranch(options, args.branch, notes, signal);
  const output = file === undefined ? undefined : await readOutputSchema(file, cwd);
  const built = (output && options.built.with?.({ output })) ?? options.built;
  const onSilence = () => void notes.write(waitingMessage).catch(() => {});
  const piped = await readPipedInput(stdin, { signal, clock, onSilence });
  if (signal.aborted) return undefined;
  const isPlan = built.mode?.() === 'plan';
  const { extensions, onNotice } = options.built;
  onNotice?.((text) => void notes.write(text).catch(() => {}));
  const { prompt = '' } = args;
  const calls = options.built.runUnasked;
  const runUnasked = calls && callsOfMessage(calls, signal);
  const expanded =
    extensions === undefined ? [] : await expandPrompt(extensions, prompt, [], runUnasked);
  const files = runUnasked === undefined ? [] : await readMentionedFiles(prompt, runUnasked);
  const further = [...new Set([...expanded, ...files])];
  const home = options.env['HOME'];
  const input = await createRunInput({ args, piped, cwd, home, runUnasked, isPlan, further });
  const found = await sessionFor(log, args.session, { cwd, flags: args, isFolderOnly: true });
  const session = found?.id;
  const refusal = session && (await refusalToResume(log, session, { flags: args, built }));
  if (refusal !== undefined) throw refusal;
  if (input === undefined && found?.hasWork === false) throw nothingToDo(found, args);
  await printIntroduction(options, notes);
  const { allows } = options.built;
  // If a different process drives the session, that process handles the approvals.
  if (found !== undefined && found.holder === undefined && allows !== undefined)
    await approvePending(log, found.id, allows);
  if (found !== undefined && found.holder === undefined) {
    const lost = (await options.built.background?.findLost(log, found.id)) ?? [];
    await options.built.background?.reportLost(log, found.id, lost);
  }
  if (input === undefined && session !== undefined) return built.agent.resume(session, { signal });
  return built.agent.run(input ?? [], { session, signal });
}

/** Starts a run in a branch of the session. */
async function startBranch(
  options: PrintRunOptions,
  { at, text, instructions, results, rerun }: NonNullable<PrintArgs['branch']>,
  notes: Notes,
  signal: AbortSignal,
): Promise<Run> {
  const { args, built, log, cwd, chosen } = options;
  const found = await sessionFor(log, args.session, { cwd, flags: args });
  if (found === undefined) throw new UsageError('millrace branch needs a session');
  if (args.agents === undefined) await assertOwnSession(log, found, { flags: args, built });
  await printIntroduction(options, notes);
  const outputs = Object.entries(results).map(([id, output]) => [id, { output }] as const);
  const branch = {
    ...{ at, rerun, instructions, results: Object.fromEntries(outputs) },
    // A branch at the first message has no other message, so this one must name the folder.
    ...(text !== undefined && { input: userItem([text], { cwd: found.cwd ?? cwd }) }),
    ...(args.agents !== undefined && { provider: chosen.provider }),
    ...(args.agents === undefined &&
      args.model !== undefined && { model: chosen.label ?? args.model }),
  };
  const { observers } = options;
  return branchSession(built.agent, found.id, branch, { signal, observers, whileAsking: 'park' });
}

/**
 * Creates the error for a session that has no work. A script with an empty prompt must get this
 * error and not an empty answer.
 */
function nothingToDo({ id }: SessionSummary, flags: PlaceFlags): UsageError {
  const way = `Add a prompt: ${resumeHint(flags, id, '-p "And now?"')}`;
  return new UsageError(`Cannot continue session ${id}: it has no unfinished work. ${way}`);
}

async function sessionFor(
  log: Log,
  choice: SessionChoice,
  place: SessionPlace,
): Promise<SessionSummary | undefined> {
  if (choice === 'new') return undefined;
  if (choice === 'pick')
    throw new UsageError('--resume needs an id with -p, because there is no user to choose one');
  return findSession(log, choice === 'last' ? choice : choice.id, place);
}

async function printIntroduction({ chosen, built }: PrintRunOptions, notes: Notes): Promise<void> {
  const { why, isDemo, isGuess = false } = chosen;

  // If the demo answers, or a model that the user did not select, a script must be able to detect this.
  await (isDemo || isGuess ? notes.write(why) : notes.writeDetail(why));
  for (const problem of built.problems) await notes.write(problem);
}

function printerFor(args: PrintArgs, answer: AnswerStream, options: PrinterOptions): Printer {
  if (args.json) return jsonPrinter(options);
  if (args.outputSchema !== undefined) return valuePrinter(options);
  return args.stream === 'all' ? textPrinter(answer, options) : answerPrinter(options);
}

interface EventSinks {
  readonly printer: Printer;
  readonly notes: Notes;
  readonly output: Output;
}

async function printEvents(run: Run, { printer, notes, output }: EventSinks): Promise<void> {
  const progress = new Progress();
  for await (const event of run.events) {
    await printer.show(event);
    if (output.failure !== undefined) return;
    const line = progress.lineFor(event);
    if (line === undefined) continue;
    // The reason for a delay is always printed. Otherwise the script would seem to hang.
    await (event.type === 'retry_scheduled' ? notes.write(line) : notes.writeDetail(line));
  }
}

interface CloseOptions extends Omit<EventSinks, 'printer'> {
  readonly log: Log;
  /** The command to resume the session. Undefined if the session is not stored. */
  readonly resume: string | undefined;
}

async function printClosing(
  result: RunResult,
  { log, notes, output, resume }: CloseOptions,
): Promise<void> {
  const { failure } = output;
  // The reader closed the pipe on purpose, as `head` does. This is not an error.
  if (failure?.code === 'reader_gone') return;
  const { session, stop } = result;
  const kept = resume === undefined ? '' : `. The session is stored: ${resume}`;
  if (failure !== undefined) return notes.write(`${failure.message}${kept}`);
  const pending = stop.reason === 'parked' ? await pendingApprovals(log, session) : [];
  for (const line of closingMessages(result, { pending, resume })) await notes.write(line);
  const where = resume === undefined ? '' : `. Session ${session}`;
  await notes.writeDetail(`${usageText(result)}${where}`);
}

/**
 * Returns the usage of the run. If there were sub-agents, the text also contains the usage of each.
 */
function usageText({ usage, usageByAgent }: RunResult): string {
  const children = usageByAgent.filter(({ agent }) => agent !== undefined);
  const shares = children.map(({ agent = '', usage: own }) => `${agent}: ${countsText(own)}`);
  const more = shares.length === 0 ? '' : ` (of these ${shares.join('; ')})`;
  return `${countsText(usage)}${more}`;
}

function countsText({ input, output, costs }: RunResult['usage']): string {
  const money = costs.map(({ amount, currency }) => `, ${amount} ${currency}`).join('');
  return `${input} tokens in, ${output} out${money}`;
}
