import type { JsonValue } from '@millrace/core';
import type { AgentSession, Plan } from '@millrace/temporal/workflow';
import {
  type AgentInputItem,
  type Model,
  type ModelProvider,
  type ModelRequest,
  type ModelResponse,
  Usage,
  type UsageInput,
} from '@openai/agents';
import { ApplicationFailure, AsyncLocalStorage } from '@temporalio/workflow';
import type {
  CallInput,
  CallOutput,
  CallPlace,
  PlainRequest,
  Responded,
} from '../contract/agents-activities.ts';
import { type ActivityTimes, activitiesFor, plain, typeOf } from './activities.ts';
import { Steering } from './steering.ts';

/** The run that goes on, for its tools. */
export const currentTask: InstanceType<typeof AsyncLocalStorage<TaskRun>> =
  new AsyncLocalStorage<TaskRun>();

interface AnswerCall {
  readonly callId: string;
  readonly name: string;
}

/** A run of the SDK as turns, calls and results on the log. */
export class TaskRun {
  readonly #room: AgentSession;
  readonly #times: ActivityTimes;
  readonly #running = new Set<string>();
  readonly #answered = new Set<string>();
  #steering: Steering;
  #plan: Plan | undefined;
  #handoffs: readonly AnswerCall[] = [];
  #records: Promise<unknown>[] = [];
  #isStopped = false;

  constructor(room: AgentSession, times: ActivityTimes) {
    this.#room = room;
    this.#times = times;
    this.#steering = new Steering(room.transcript);
  }

  /** All that was said so far, for the SDK's run. */
  async history(): Promise<AgentInputItem[]> {
    this.#steering = new Steering(this.#room.transcript);
    const { session } = this.#room;
    return [...(await activitiesFor(this.#times).openaiAgentsHistory({ session }))];
  }

  /** Somebody interrupted it. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** What comes next, as far as it is known. */
  get plan(): Plan | undefined {
    return this.#plan;
  }

  async advance(): Promise<Plan> {
    this.#plan = await this.#room.advance({ ifAsked: true });
    return this.#plan;
  }

  /** A model's answer: streamed to the log by an activity, and here when it is whole. */
  async respond(model: string | undefined, request: ModelRequest): Promise<ModelResponse> {
    const { signal: _signal, ...rest } = request;
    // A model that is asked while a tool runs is asked by the tool: an agent of its own.
    if (this.#running.size > 0) {
      const asked = plain('a request', { model, request: rest });
      const { response } = await activitiesFor(this.#times).openaiAgentsAsk(asked);
      return modelResponse(response);
    }
    const { response, stop } = await this.#streamed(model, rest);
    if (stop.reason === 'aborted') throw this.#stopped();
    const names = new Set(request.handoffs.map(({ toolName }) => toolName));
    this.#handoffs = response.output.flatMap((item) =>
      item.type === 'function_call' && names.has(item.name) ? item : [],
    );
    await this.advance();
    return modelResponse(response);
  }

  async #streamed(model: string | undefined, request: PlainRequest): Promise<Responded> {
    for (;;) {
      await this.settled();
      const plan = this.#plan?.do === 'request' ? this.#plan : await this.advance();
      if (plan.do !== 'request') throw this.#stopped();
      this.#plan = undefined;
      const input = await this.#steered(request.input);
      const asked = plain('a request', { model, request: { ...request, input } });
      const { session, carried } = this.#room;
      const at = { session, epoch: carried.epoch, turn: plan.turn };
      try {
        return await activitiesFor(this.#times).openaiAgentsRespond({ ...at, ...asked });
      } catch (error) {
        if (typeOf(error) !== 'millrace.fenced') throw error;
      }
    }
  }

  async #steered(input: PlainRequest['input']): Promise<PlainRequest['input']> {
    const ids = this.#steering.unseen(this.#room.transcript);
    const { session } = this.#room;
    if (ids.length > 0) {
      const said = await activitiesFor(this.#times).openaiAgentsHistory({ session, ids });
      this.#steering.join(said, input);
    }
    return this.#steering.applied(input);
  }

  /** Runs a worker's tool for a call. */
  async run(call: AnswerCall, input: JsonValue, times: ActivityTimes): Promise<CallOutput> {
    const { callId, name } = call;
    const at = this.#placeOf(callId);
    const work = { do: 'run', input } as const;
    const output = await this.#call(at ? { name, at, work } : { name, work }, {
      ...this.#times,
      ...times,
    });
    this.#answered.add(callId);
    return output;
  }

  began(callId: string): void {
    this.#running.add(callId);
  }

  /** A tool ran here; what came of it is told, unless its activity did so. */
  ended(call: AnswerCall, output: JsonValue): void {
    this.#running.delete(call.callId);
    if (!this.#answered.has(call.callId)) this.#record(call, output);
  }

  /** The first hand-off of an answer counts, as the SDK has it. */
  handedOver(to: string): void {
    const [call, ...ignored] = this.#handoffs;
    this.#handoffs = [];
    if (call !== undefined) this.#record(call, { assistant: to });
    const why = 'Not handed over: another hand-off of the same answer came first';
    for (const other of ignored) this.#record(other, why, true);
  }

  /** When all is told. */
  async settled(): Promise<void> {
    const records = this.#records;
    this.#records = [];
    try {
      await Promise.all(records);
    } catch (error) {
      // A run that was interrupted answers its calls by itself.
      if (typeOf(error) !== 'millrace.aborted') throw error;
    }
  }

  #record({ callId, name }: AnswerCall, output: JsonValue, isError = false): void {
    const at = this.#placeOf(callId);
    if (at === undefined) return;
    const told = this.#call({ name, at, work: { do: 'record', output, isError } }, this.#times);
    told.catch(() => {});
    this.#records.push(told);
  }

  async #call(input: CallInput, times: ActivityTimes): Promise<CallOutput> {
    const { name } = input;
    return activitiesFor(times).openaiAgentsCall(plain(`what is given to ${name}`, input));
  }

  #placeOf(toolCallId: string): CallPlace | undefined {
    const plan = this.#plan;
    if (plan?.do !== 'calls') return undefined;
    if (!plan.calls.some((call) => call.toolCallId === toolCallId)) return undefined;
    const { session, carried } = this.#room;
    const { turn, attempt } = plan;
    return { session, epoch: carried.epoch, turn, attempt, toolCallId };
  }

  #stopped(): ApplicationFailure {
    this.#isStopped = true;
    const message = `The run in session ${this.#room.session} was interrupted`;
    return ApplicationFailure.nonRetryable(message, 'millrace.aborted');
  }
}

function modelResponse({
  id,
  usage,
  output,
  rawUsage,
  providerData,
}: Responded['response']): ModelResponse {
  return {
    ...{ responseId: id, output, usage: new Usage(usage as UsageInput) },
    ...(rawUsage && { rawUsage }),
    ...(providerData && { providerData }),
  };
}

/** Models whose answers are activities. */
export function workflowModels(task: TaskRun): ModelProvider {
  return {
    getModel: (name): Model => ({
      getResponse: (request) => task.respond(name || undefined, request),
      getStreamedResponse: () => {
        throw refused(name);
      },
    }),
  };
}

function refused(name: string | undefined): ApplicationFailure {
  const message = `Cannot stream model ${name || 'of the agent'} in workflow code: it does I/O, which a workflow must not. Run the agent without \`stream\`: getResponse streams to the log by an activity, as autoSend(…) does; or use a streaming context in your own activity: streamingContext(…)`;
  return ApplicationFailure.nonRetryable(message, 'millrace.stream_in_workflow');
}
