import type { Delta, PartId } from '@millrace/core';
import type { StreamStep } from '@millrace/providers';
import type { ContentInput, HandlerContext } from '@millrace/server';
import type { Runner } from '@openai/agents';
import type { TurnStream } from '../model/turn-stream.ts';
import { callContent, callIdOf, resultContent } from '../updates/message-content.ts';

type Emitter = Pick<Runner, 'on' | 'off'>;
type Name = 'agent_tool_start' | 'agent_tool_end' | 'agent_handoff';

/** What an async agent writes of a run: one for each event that it handles. */
export interface RunHooks extends TurnStream, AsyncDisposable {
  /** Listens to the hooks of this runner from now on. */
  attach(runner: Emitter): this;
  /** When all is written. Rejects where something could not be. */
  settled(): Promise<void>;
}

/**
 * The hooks of a run write what happens between the model's answers: results and hand-offs, and the
 * calls of models that are not ours. Ours stream by the same context, `millraceModels({ provider,
 * stream: hooks })`, so that all comes in order.
 */
export function runHooks(context: Pick<HandlerContext, 'stream' | 'signal'>): RunHooks {
  return new ContextHooks(context);
}

class ContextHooks implements RunHooks {
  readonly #context: Pick<HandlerContext, 'stream' | 'signal'>;
  /** Those that are in the task already, because their model streamed them. */
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
      for (const content of this.#handedOver(from.name, to.name)) this.#write(content);
    });
    return this;
  }

  async send(steps: AsyncIterable<StreamStep>, handoffs: ReadonlySet<string>): Promise<void> {
    // A model that is asked while a tool runs is asked by the tool: an agent of its own, whose words are not this run's.
    if (this.#running.size > 0) return await drain(steps);
    // What happened before the model speaks stands before its words.
    await this.settled();
    const answer = new AnswerCalls();
    await this.#context.stream.auto(answer.watch(steps));
    for (const { callId } of answer.calls) this.#streamed.add(callId);
    this.#handoffs = answer.calls.filter(({ name }) => handoffs.has(name));
  }

  async settled(): Promise<void> {
    await this.#last;
    // Once it was stopped nothing is written any more, and nobody expects it.
    if (this.#failure !== undefined && !this.#context.signal.aborted) throw this.#failure.error;
  }

  async [Symbol.asyncDispose](): Promise<void> {
    for (const detach of this.#detach) detach();
    await this.settled();
  }

  /** The first hand-off of an answer counts, as the SDK has it. One of a model that is not ours has no call. */
  #handedOver(from: string, to: string): readonly ContentInput[] {
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

  #listen<K extends Name>(
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

export interface AnswerCall {
  readonly callId: string;
  readonly name: string;
}

/** The calls of an answer, as they stand while its steps pass by. */
export class AnswerCalls {
  readonly #calls = new Map<PartId, AnswerCall>();

  get calls(): readonly AnswerCall[] {
    return [...this.#calls.values()];
  }

  async *watch(steps: AsyncIterable<StreamStep>): AsyncGenerator<StreamStep> {
    for await (const step of steps) {
      for (const delta of step.deltas) this.#note(delta);
      yield step;
    }
  }

  #note(delta: Delta): void {
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
