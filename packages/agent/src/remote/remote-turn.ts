import type { Item } from '@millrace/core';
import type { ToolContext, ToolOutput } from '../contract/tool.ts';
import { nextRound } from '../replay/playback.ts';
import type { RemoteEvent } from './contract.ts';
import { namedQuestion, withCall } from './question-text.ts';

type Question = Extract<RemoteEvent, { readonly type: 'question' }>;
type Result = Extract<RemoteEvent, { readonly type: 'result' }>;

type Call = Extract<RemoteEvent, { readonly type: 'call' }>;

/** Maximum number of events that wait for the log. */
const maxWaiting = 10_000;
/** Maximum number of events that are taken without a pause. */
const maxTaken = 100;
/** Maximum length of the texts that wait for the log, in characters. */
const maxWaitingLength = 16 * 2 ** 20;
/** Maximum number of calls without a result, and of results that no call has taken. */
const maxCalls = 10_000;
/** Maximum length of these calls and results, in characters. */
const maxKeptLength = 64 * 2 ** 20;

/**
 * The work of a remote agent on one message. It spans several steps of our loop: a step ends when the remote
 * agent has called tools, and these calls run as tools of ours until the remote agent reports their results.
 */
export class RemoteTurn {
  readonly #stop = new AbortController();
  #isStopped = false;
  /** The events that no step has written yet. */
  #waiting: RemoteEvent[] = [];
  #waitingLength = 0;
  /** The number of events that were taken without a pause. */
  #taken = 0;
  /** The results that no call has taken yet. */
  readonly #results = new Map<string, Result>();
  /** The calls that have their result. A second result has no effect. */
  readonly #finished = new Set<string>();
  /** The length of `#results` and `#made`, in characters. */
  #keptLength = 0;
  readonly #progress = new Map<string, string>();
  #progressLength = 0;
  readonly #questions = new Set<Question>();
  /** The calls of the remote agent without a result, by id. A question can be about each of them. */
  readonly #made = new Map<string, Call>();
  /** The ids of our calls that only ask a question. */
  readonly #questionCalls = new Set<string>();
  /** The calls that run as tools now. */
  readonly #served = new Set<string>();
  /** Aborts when the remote agent has ended. Open questions end then. */
  readonly #over = new AbortController();
  #changed = Promise.withResolvers<void>();
  /** The ids of the calls that the last step wrote. */
  calls: ReadonlySet<string> = new Set();
  /** The messages that arrived meanwhile. The remote agent gets them after this turn. */
  readonly later: Item[] = [];
  /** The name of the remote agent, for its questions. */
  readonly #name: string;

  /** The signal of the run. The remote agent stops when the run is stopped, and when the run ends. */
  constructor(
    start: (signal: AbortSignal) => AsyncIterable<RemoteEvent>,
    run: AbortSignal | undefined,
    name: string,
  ) {
    this.#name = name;
    run?.addEventListener('abort', () => this.stop(), { once: true });
    if (run?.aborted) this.stop();
    else void this.#read(start);
  }

  /** True if our side has stopped the remote agent. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Stops the remote agent. */
  stop(): void {
    this.#isStopped = true;
    this.#stop.abort();
    this.#end({ type: 'end', stop: { reason: 'aborted' } });
  }

  async #read(start: (signal: AbortSignal) => AsyncIterable<RemoteEvent>): Promise<void> {
    try {
      for await (const event of start(this.#stop.signal)) {
        if (this.#over.signal.aborted) {
          // The remote agent waits for an answer to each question, even if nobody can see it.
          if (event.type === 'question') event.answer({ action: 'cancel' });
          break;
        }
        this.#add(event);
      }
      this.#end(failed('The remote agent ended without a reason'));
    } catch (error) {
      this.#end(failed(error instanceof Error ? error.message : String(error)));
    }
  }

  #add(event: RemoteEvent): void {
    if (event.type === 'end') return this.#end(event);
    if (event.type === 'progress') {
      const known = this.#progress.get(event.id) ?? '';
      const text = known + event.text;
      // The start of a long text is cut rarely, because each cut copies the rest.
      const kept = text.length > 2 * maxWaitingLength ? text.slice(-maxWaitingLength) : text;
      this.#progress.set(event.id, kept);
      this.#progressLength += kept.length - known.length;
    } else {
      if (event.type === 'call') this.#keep(this.#made, event);
      if (event.type === 'result' && !this.#finished.has(event.id))
        this.#keep(this.#results, event);
      if (event.type === 'question') this.#questions.add(event);
      this.#waiting.push(event);
      this.#waitingLength += lengthOf(event);
    }
    const isTooMuch =
      this.#waiting.length > maxWaiting ||
      this.#waitingLength > maxWaitingLength ||
      this.#progress.size > maxWaiting ||
      this.#made.size > maxCalls ||
      this.#results.size > maxCalls ||
      this.#keptLength > maxKeptLength ||
      this.#progressLength > 4 * maxWaitingLength;
    if (isTooMuch) {
      this.#stop.abort();
      this.#end(failed('The remote agent sent too much while its calls ran'));
    }
    this.#wake();
  }

  /** Keeps a call or a result by its id. A later one replaces it. */
  #keep<Kept extends Call | Result>(kept: Map<string, Kept>, event: Kept): void {
    this.#drop(kept, event.id);
    this.#keptLength += keptLengthOf(event);
    kept.set(event.id, event);
  }

  #drop(kept: Map<string, Call | Result>, id: string): void {
    const known = kept.get(id);
    if (known !== undefined) this.#keptLength -= keptLengthOf(known);
    kept.delete(id);
  }

  #end(event: Extract<RemoteEvent, { readonly type: 'end' }>): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    for (const { answer } of this.#questions) answer({ action: 'cancel' });
    this.#questions.clear();
    this.#waiting.push(event);
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /**
   * Returns the next events. Waits for at least one event. After `maxTaken` events, the process does other
   * work first, because the log needs time for each event.
   */
  async take(): Promise<readonly RemoteEvent[]> {
    if (this.#taken >= maxTaken) {
      await nextRound();
      this.#taken = 0;
    }
    while (this.#waiting.length === 0) await this.#changed.promise;
    const taken = this.#waiting.splice(0, maxTaken);
    this.#taken += taken.length;
    for (const event of taken) this.#waitingLength -= lengthOf(event);
    return taken;
  }

  /** Puts events back that belong to the next step. */
  putBack(events: readonly RemoteEvent[]): void {
    this.#waiting.unshift(...events);
    for (const event of events) this.#waitingLength += lengthOf(event);
  }

  /** Returns the id of a new call that only asks a question. */
  newQuestionCall(): string {
    const id = `question-${crypto.randomUUID()}`;
    this.#questionCalls.add(id);
    return id;
  }

  /** Returns whether a question has no answer and is not shown. */
  isOpen(question: Question): boolean {
    return this.#questions.has(question);
  }

  /** Runs a call as a tool: asks its questions, shows its progress, and returns its result. */
  async serve(context: ToolContext): Promise<ToolOutput> {
    const { toolCallId: id, signal } = context;
    const stop = () => this.stop();
    signal.addEventListener('abort', stop, { once: true });
    if (signal.aborted) stop();
    this.#served.add(id);
    try {
      return await this.#serve(id, context);
    } finally {
      this.#served.delete(id);
      signal.removeEventListener('abort', stop);
    }
  }

  async #serve(id: string, context: ToolContext): Promise<ToolOutput> {
    for (;;) {
      const changed = this.#changed.promise;
      const question = this.#takeQuestion(id);
      if (question !== undefined) {
        const { text, isStopped } = await ask(
          this.#shown(question, id),
          context,
          this.#over.signal,
        );
        // The input guardrails of the run then check the text too, and block the run.
        if (isStopped) this.stop();
        if (isStopped || this.#questionCalls.has(id))
          return { output: { text, isError: isStopped } };
        continue;
      }
      const progress = this.#progress.get(id);
      if (progress !== undefined) context.update(progress);
      this.#progressLength -= progress?.length ?? 0;
      this.#progress.delete(id);
      const result = this.#results.get(id);
      if (result !== undefined) {
        this.#finish(id);
        return { output: outputOf(result) };
      }
      if (this.#over.signal.aborted)
        return { output: { text: 'The remote agent reported no result.', isError: true } };
      await changed;
    }
  }

  /** Forgets a call that has its result, so that a long turn needs no more memory than a short one. */
  #finish(id: string): void {
    this.#drop(this.#results, id);
    this.#drop(this.#made, id);
    this.#finished.add(id);
    const [oldest] = this.#finished;
    if (this.#finished.size > maxCalls && oldest !== undefined) this.#finished.delete(oldest);
  }

  /**
   * Takes the next question that the call `id` must ask: a question about this call, or about a call that does
   * not run yet. The remote agent may need the answer about the later call before it finishes this call. If this
   * call already has its result, it does not take questions about other calls of the same step, because those
   * calls ask them.
   */
  #takeQuestion(id: string): Question | undefined {
    const canWait = this.#results.has(id);
    const isOwn = ({ call }: Question) => {
      if (call === id || call === undefined) return true;
      return !this.#served.has(call) && !(canWait && this.calls.has(call));
    };
    const found = [...this.#questions].find(isOwn);
    if (found !== undefined) this.#questions.delete(found);
    return found;
  }

  /**
   * Returns a question in the form in which the call `id` asks it. Its message names the remote agent. If the question
   * is about another call, the message also names that call and the input of that call.
   */
  #shown(question: Question, id: string): Question {
    const { call, form } = question;
    const about = call === undefined || call === id ? undefined : this.#made.get(call);
    const text = about === undefined ? form.message : withCall(form.message, about);
    return { ...question, form: { ...form, message: namedQuestion(this.#name, text) } };
  }
}

function lengthOf(event: RemoteEvent): number {
  switch (event.type) {
    case 'text':
    case 'reasoning':
    case 'result':
      return event.text.length;
    case 'call':
      return JSON.stringify(event.input).length;
    case 'question':
      return event.form.message.length;
    case 'memory':
      return JSON.stringify(event.value).length;
    default:
      return 0;
  }
}

/** Returns the length of a call or of a result with its attachments. */
function keptLengthOf(event: Call | Result): number {
  const attachments = (event.type === 'result' && event.attachments) || [];
  const bytes = attachments.map(({ source }) =>
    source.type === 'bytes' ? source.bytes.length : 0,
  );
  return bytes.reduce((length, one) => length + one, lengthOf(event));
}

async function ask(
  { form, answer }: Question,
  { ask: show }: ToolContext,
  signal: AbortSignal,
): Promise<{ readonly text: string; readonly isStopped: boolean }> {
  try {
    const given = (await show?.(form, signal)) ?? { action: 'cancel' };
    if (given.action === 'cancel') {
      answer({ action: 'cancel' });
      return { text: given.stopped ?? 'cancel', isStopped: given.stopped !== undefined };
    }
    answer(given);
    const text = given.action === 'accept' ? JSON.stringify(given.content) : given.action;
    return { text, isStopped: false };
  } catch (error) {
    answer({ action: 'cancel' });
    return { text: error instanceof Error ? error.message : 'cancel', isStopped: false };
  }
}

function outputOf({ text, isError, attachments }: Result): ToolOutput['output'] {
  return { text, isError, ...(attachments !== undefined && { attachments }) };
}

function failed(problem: string): Extract<RemoteEvent, { readonly type: 'end' }> {
  return { type: 'end', stop: { reason: 'error' }, problem };
}
