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
  CallLocation,
  CallOutput,
  PlainRequest,
  Responded,
} from '../contract/agents-activities.ts';
import { type ActivityTimeouts, activitiesFor, failureType, toPayload } from './activities.ts';
import { Steering } from './steering.ts';

/** The storage of the current run, which the tools of the run read. */
export const currentTask: InstanceType<typeof AsyncLocalStorage<TaskRun>> =
  new AsyncLocalStorage<TaskRun>();

interface AnswerCall {
  readonly callId: string;
  readonly name: string;
}

/** Records a run of the SDK as turns, calls and results on the log. */
export class TaskRun {
  readonly #agentSession: AgentSession;
  readonly #times: ActivityTimeouts;
  readonly #running = new Set<string>();
  readonly #answered = new Set<string>();
  #steering: Steering;
  #plan: Plan | undefined;
  #handoffs: readonly AnswerCall[] = [];
  #records: Promise<unknown>[] = [];
  #isStopped = false;

  constructor(agentSession: AgentSession, times: ActivityTimeouts) {
    this.#agentSession = agentSession;
    this.#times = times;
    this.#steering = new Steering(agentSession.transcript);
  }

  /** Returns the current conversation as input for the SDK. */
  async history(): Promise<AgentInputItem[]> {
    this.#steering = new Steering(this.#agentSession.transcript);
    const { session } = this.#agentSession;
    return [...(await activitiesFor(this.#times).openaiAgentsHistory({ session }))];
  }

  /** True if the run was interrupted. */
  get isStopped(): boolean {
    return this.#isStopped;
  }

  /** The next plan. Undefined if it is not known yet. */
  get plan(): Plan | undefined {
    return this.#plan;
  }

  async advance(): Promise<Plan> {
    this.#plan = await this.#agentSession.advance({ ifAsked: true });
    return this.#plan;
  }

  /**
   * Requests a model's answer. An activity streams it to the log and returns it when it is
   * complete.
   */
  async respond(model: string | undefined, request: ModelRequest): Promise<ModelResponse> {
    const { signal: _signal, ...rest } = request;
    // A model request during a tool call comes from an agent inside the tool, so the log does not contain it.
    if (this.#running.size > 0) {
      const asked = toPayload('a request', { model, request: rest });
      const { response } = await activitiesFor(this.#times).openaiAgentsAsk(asked);
      return modelResponse(response);
    }
    const { response, stop } = await this.#respondStreamed(model, rest);
    if (stop.reason === 'aborted') throw this.#stopped();
    const names = new Set(request.handoffs.map(({ toolName }) => toolName));
    this.#handoffs = response.output.flatMap((item) =>
      item.type === 'function_call' && names.has(item.name) ? item : [],
    );
    await this.advance();
    return modelResponse(response);
  }

  async #respondStreamed(model: string | undefined, request: PlainRequest): Promise<Responded> {
    for (;;) {
      await this.settled();
      const plan = this.#plan?.do === 'request' ? this.#plan : await this.advance();
      if (plan.do !== 'request') throw this.#stopped();
      this.#plan = undefined;
      const input = await this.#withSteering(request.input);
      const asked = toPayload('a request', { model, request: { ...request, input } });
      const { session, carried } = this.#agentSession;
      const at = { session, epoch: carried.epoch, turn: plan.turn };
      try {
        return await activitiesFor(this.#times).openaiAgentsRespond({ ...at, ...asked });
      } catch (error) {
        if (failureType(error) !== 'millrace.fenced') throw error;
      }
    }
  }

  async #withSteering(input: PlainRequest['input']): Promise<PlainRequest['input']> {
    const ids = this.#steering.newItemIds(this.#agentSession.transcript);
    const { session } = this.#agentSession;
    if (ids.length > 0) {
      const messages = await activitiesFor(this.#times).openaiAgentsHistory({ session, ids });
      this.#steering.insert(messages, input);
    }
    return this.#steering.apply(input);
  }

  /** Runs a worker's tool for a call. */
  async run(call: AnswerCall, input: JsonValue, times: ActivityTimeouts): Promise<CallOutput> {
    const { callId, name } = call;
    const at = this.#locate(callId);
    const work = { do: 'run', input } as const;
    const output = await this.#call(at ? { name, at, work } : { name, work }, {
      ...this.#times,
      ...times,
    });
    this.#answered.add(callId);
    return output;
  }

  toolStarted(callId: string): void {
    this.#running.add(callId);
  }

  /**
   * Records the result of a tool that ran in the workflow. Does nothing if the activity of the tool has
   * already recorded it.
   */
  toolEnded(call: AnswerCall, output: JsonValue): void {
    this.#running.delete(call.callId);
    if (!this.#answered.has(call.callId)) this.#record(call, output);
  }

  /** Records the results of hand-offs. As in the SDK, only the first hand-off of an answer counts. */
  handoffDone(to: string): void {
    const [call, ...ignored] = this.#handoffs;
    this.#handoffs = [];
    if (call !== undefined) this.#record(call, { assistant: to });
    const why = 'Not handed over: another hand-off of the same answer came first';
    for (const other of ignored) this.#record(other, why, true);
  }

  /** Resolves when all results are recorded. */
  async settled(): Promise<void> {
    const records = this.#records;
    this.#records = [];
    try {
      await Promise.all(records);
    } catch (error) {
      // The run was interrupted, so the log already has results for its calls.
      if (failureType(error) !== 'millrace.aborted') throw error;
    }
  }

  #record({ callId, name }: AnswerCall, output: JsonValue, isError = false): void {
    const at = this.#locate(callId);
    if (at === undefined) return;
    const recorded = this.#call({ name, at, work: { do: 'record', output, isError } }, this.#times);
    recorded.catch(() => {});
    this.#records.push(recorded);
  }

  async #call(input: CallInput, times: ActivityTimeouts): Promise<CallOutput> {
    const { name } = input;
    return activitiesFor(times).openaiAgentsCall(toPayload(`the input of ${name}`, input));
  }

  #locate(toolCallId: string): CallLocation | undefined {
    const plan = this.#plan;
    if (plan?.do !== 'tool_calls') return undefined;
    if (!plan.toolCalls.some((call) => call.toolCallId === toolCallId)) return undefined;
    const { session, carried } = this.#agentSession;
    const { turn, attempt } = plan;
    return { session, epoch: carried.epoch, turn, attempt, toolCallId };
  }

  #stopped(): ApplicationFailure {
    this.#isStopped = true;
    const message = `The run in session ${this.#agentSession.session} was interrupted`;
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

/** Returns models that request their answers in activities. */
export function workflowModels(task: TaskRun): ModelProvider {
  return {
    getModel: (name): Model => ({
      getResponse: (request) => task.respond(name || undefined, request),
      getStreamedResponse: () => {
        throw streamInWorkflow(name);
      },
    }),
  };
}

function streamInWorkflow(name: string | undefined): ApplicationFailure {
  const message = `Cannot stream model ${name || 'of the agent'} in workflow code: it does I/O, which workflow code must not do. Run the agent without \`stream\`: getResponse streams to the log in an activity, as autoSend(…) does; or use streamingContext(…) in your own activity`;
  return ApplicationFailure.nonRetryable(message, 'millrace.stream_in_workflow');
}
