import type { Item } from '@millrace/core';
import type { ToolContext, ToolOutput } from '../contract/tool.ts';
import type { RemoteEvent } from './contract.ts';

type Question = Extract<RemoteEvent, { readonly type: 'question' }>;
type Result = Extract<RemoteEvent, { readonly type: 'result' }>;

/** Maximum number of events that wait for the log. */
const maxWaiting = 10_000;
/** Maximum length of the texts that wait for the log, in characters. */
const maxWaitingLength = 16 * 2 ** 20;

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
  readonly #results = new Map<string, Result>();
  readonly #progress = new Map<string, string>();
  readonly #questions = new Set<Question>();
  /** The calls that run as tools now. */
  readonly #served = new Set<string>();
  /** Aborts when the remote agent has ended. Open questions end then. */
  readonly #over = new AbortController();
  #changed = Promise.withResolvers<void>();
  /** The ids of the calls that the last step wrote. */
  calls: ReadonlySet<string> = new Set();
  /** The messages that arrived meanwhile. The remote agent gets them after this turn. */
  readonly later: Item[] = [];

  constructor(start: (signal: AbortSignal) => AsyncIterable<RemoteEvent>) {
    void this.#read(start);
  }

  /** True if our side has stopped the remote agent. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** Stops the remote agent. */
  stop(): void {
    this.#isStopped = true;
    this.#stop.abort();
    for (const { answer } of this.#questions) answer({ action: 'cancel' });
    this.#questions.clear();
    this.#end({ type: 'end', stop: { reason: 'aborted' } });
  }

  async #read(start: (signal: AbortSignal) => AsyncIterable<RemoteEvent>): Promise<void> {
    try {
      for await (const event of start(this.#stop.signal)) {
        if (this.#over.signal.aborted) break;
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
      const text = (this.#progress.get(event.id) ?? '') + event.text;
      // The start of a long text is cut rarely, because each cut copies the rest.
      const isLong = text.length > 2 * maxWaitingLength;
      this.#progress.set(event.id, isLong ? text.slice(-maxWaitingLength) : text);
    } else {
      if (event.type === 'result') this.#results.set(event.id, event);
      if (event.type === 'question') this.#questions.add(event);
      this.#waiting.push(event);
      if ('text' in event) this.#waitingLength += event.text.length;
    }
    const isTooMuch = this.#waiting.length > maxWaiting || this.#waitingLength > maxWaitingLength;
    if (isTooMuch) {
      this.#stop.abort();
      this.#end(failed('The remote agent sent too much while its calls ran'));
    }
    this.#wake();
  }

  #end(event: Extract<RemoteEvent, { readonly type: 'end' }>): void {
    if (this.#over.signal.aborted) return;
    this.#over.abort();
    this.#waiting.push(event);
    this.#wake();
  }

  #wake(): void {
    this.#changed.resolve();
    this.#changed = Promise.withResolvers();
  }

  /** Returns the events since the last call. Waits for at least one event. */
  async take(): Promise<readonly RemoteEvent[]> {
    while (this.#waiting.length === 0) await this.#changed.promise;
    this.#waitingLength = 0;
    return this.#waiting.splice(0);
  }

  /** Puts events back that belong to the next step. */
  putBack(events: readonly RemoteEvent[]): void {
    this.#waiting.unshift(...events);
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
        const text = await ask(question, context, this.#over.signal);
        if (isQuestionCall(id)) return { output: { text } };
        continue;
      }
      const progress = this.#progress.get(id);
      if (progress !== undefined) context.update(progress);
      this.#progress.delete(id);
      const result = this.#results.get(id);
      if (result !== undefined) return { output: outputOf(result) };
      if (this.#over.signal.aborted)
        return { output: { text: 'The remote agent reported no result.', isError: true } };
      await changed;
    }
  }

  /**
   * Takes a question about a call. A call also asks the questions of calls that do not run yet, because the
   * remote agent may need their answers before it finishes this call.
   */
  #takeQuestion(id: string): Question | undefined {
    const isOwn = ({ call }: Question) =>
      call === id || call === undefined || !this.#served.has(call);
    const found = [...this.#questions].find(isOwn);
    if (found !== undefined) this.#questions.delete(found);
    return found;
  }
}

/** The start of the id of a call that only asks a question. */
const questionPrefix = 'question-';

/** Returns the id of a call that only asks a question. */
export function questionCallId(unique: string): string {
  return `${questionPrefix}${unique}`;
}

function isQuestionCall(id: string): boolean {
  return id.startsWith(questionPrefix);
}

async function ask(
  { form, answer }: Question,
  { ask: show }: ToolContext,
  signal: AbortSignal,
): Promise<string> {
  try {
    const given = (await show?.(form, signal)) ?? { action: 'cancel' };
    answer(given);
    return given.action === 'accept' ? JSON.stringify(given.content) : given.action;
  } catch (error) {
    answer({ action: 'cancel' });
    return error instanceof Error ? error.message : 'cancel';
  }
}

function outputOf({ text, isError, attachments }: Result): ToolOutput['output'] {
  return { text, isError, ...(attachments !== undefined && { attachments }) };
}

function failed(problem: string): Extract<RemoteEvent, { readonly type: 'end' }> {
  return { type: 'end', stop: { reason: 'error' }, problem };
}
