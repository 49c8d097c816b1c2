import type { Delta, PartId } from '@millrace/core';
import type { StreamStep } from '@millrace/providers';
import type { ContentInput, HandlerContext } from '@millrace/server';
import type { Runner } from '@openai/agents';
import type { TurnStream } from '../model/turn-stream.ts';
import { callContent, callIdOf, resultContent } from '../updates/message-content.ts';

type Emitter = Pick<Runner, 'on' | 'off'>;
type HookName = 'agent_tool_start' | 'agent_tool_end' | 'agent_handoff';

/**
 * Writes the events of a run to a task. Create a new object for each event that an async agent handles.
 */
export interface RunHooks extends TurnStream, AsyncDisposable {
  /** Subscribes to the hooks of this runner. */
  attach(runner: Emitter): this;
  /** Resolves when all events are written. Rejects if an event could not be written. */
  settled(): Promise<void>;
}

/**
 * Creates hooks that write the events between model answers. These are tool results, hand-offs, and the
 * calls of models from other vendors. Millrace models stream through the same context with
 * `millraceModels({ provider, stream: hooks })`, so that all messages are in order.
 */
export function runHooks(context: Pick<HandlerContext, 'stream' | 'signal'>): RunHooks {
  return new ContextHooks(context);
}

class ContextHooks implements RunHooks {
  readonly #context: Pick<HandlerContext, 'stream' | 'signal'>;
  /** The ids of calls that are already in the task, because their model streamed them. */
  readonly #streamed = new Set<string>();
  readonly #running = new Set<string>();
  #handoffs: readonly AnswerCall[] = [];
  #last: Promise<void> = Promise.resolve();
  #failure: { readonly error: unknown } | undefined;
  readonly #detach: (() => void)[] = [];

  constructor(context: Pick<HandlerContext, 'stream' | 'signal'>) {
    this.#context = context;
  }

  attach(runner: Emitter): this {
    this.#listen(runner, 'agent_tool_start', (_context, _agent, _tool, { toolCall }) => {
      this.#running.add(callIdOf(toolCall));
      if (!this.#streamed.has(callIdOf(toolCall))) this.#write(callContent(toolCall));
    });
    this.#listen(runner, 'agent_tool_end', (_context, _agent, tool, result, { toolCall }) => {
      this.#running.delete(callIdOf(toolCall));
      this.#write(resultContent({ callId: callIdOf(toolCall), name: tool.name }, result));
    });
    this.#listen(runner, 'agent_handoff', (_context, from, to) => {
      for (const content of this.#handoffContents(from.name, to.name)) this.#write(content);
    });
    return this;
  }

  async send(steps: AsyncIterable<StreamStep>, handoffs: ReadonlySet<string>): Promise<void> {
    // A model request during a tool call comes from an agent inside the tool. The output of that agent is not
    // part of this run.
    if (this.#running.size > 0) return await drain(steps);
    // Earlier events must be in the task before the model's answer.
    await this.settled();
    const answer = new AnswerCalls();
    await this.#context.stream.auto(answer.watch(steps));
    for (const { callId } of answer.calls) this.#streamed.add(callId);
    this.#handoffs = answer.calls.filter(({ name }) => handoffs.has(name));
  }

  async settled(): Promise<void> {
    await this.#last;
    // After an abort, the remaining events are not needed, so a failed write is ignored.
    if (this.#failure !== undefined && !this.#context.signal.aborted) throw this.#failure.error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const detach of this.#detach) detach();
    await this.settled();
  }

  /**
   * Returns the contents for a hand-off. As in the SDK, only the first hand-off of an answer counts. If the
   * model is not a Millrace model, this class has no call for the hand-off.
   */
  #handoffContents(from: string, to: string): readonly ContentInput[] {
    const [call, ...ignored] = this.#handoffs;
    this.#handoffs = [];
    if (call === undefined)
      return [{ type: 'data', author: 'agent', data: { handoff: { from, to } } }];
    const why = 'Not handed over: another hand-off of the same answer came first';
    return [
      resultContent(call, { assistant: to }),
      ...ignored.map((other) => ({ ...resultContent(other, why), is_error: true })),
    ];
  }

  #write(content: ContentInput): void {
    this.#last = this.#last
      .then(async () => {
        const message = await this.#context.stream.open(content);
        await message.close();
      })
      .catch((error: unknown) => {
        this.#failure ??= { error };
      });
  }

  #listen<K extends HookName>(
    runner: Emitter,
    name: K,
    listener: Parameters<typeof runner.on<K>>[1],
  ): void {
    runner.on(name, listener);
    this.#detach.push(() => runner.off(name, listener));
  }
}

async function drain(steps: AsyncIterable<StreamStep>): Promise<void> {
  for await (const _ of steps);
}

interface AnswerCall {
  readonly callId: string;
  readonly name: string;
}

/** Collects the tool calls of a model's answer. `watch` returns the steps of the stream unchanged. */
class AnswerCalls {
  readonly #calls = new Map<PartId, AnswerCall>();

  get calls(): readonly AnswerCall[] {
    return [...this.#calls.values()];
  }

  async *watch(steps: AsyncIterable<StreamStep>): AsyncGenerator<StreamStep> {
    for await (const step of steps) {
      for (const delta of step.deltas) this.#track(delta);
      yield step;
    }
  }

  #track(delta: Delta): void {
    switch (delta.type) {
      case 'begin_part':
        return delta.kind === 'tool_call' ? this.#add(delta.partId, delta) : undefined;
      case 'commit_part':
        return delta.part?.kind === 'tool_call' ? this.#add(delta.partId, delta.part) : undefined;
      case 'retract_part':
        this.#calls.delete(delta.partId);
        return;
      default:
        return;
    }
  }

  #add(id: PartId, { toolCallId, name }: { readonly toolCallId: string; readonly name: string }) {
    this.#calls.set(id, { callId: toolCallId, name });
  }
}
