import { runId, type SessionId } from '@millrace/core';
import type { Agent } from '../contract/agent.ts';
import {
  type AdvanceResult,
  advance,
  callStep,
  type Plan,
  type RunEnd,
  requestStep,
  submitStep,
} from '../steps/index.ts';

/** Runs an agent step by step, as a workflow does. */
export class StepRunner {
  readonly #agent: Agent;
  readonly #session: SessionId;
  readonly #run: string;
  #step = 0;
  epoch = 0;

  constructor(agent: Agent, session: SessionId, run = 'run one') {
    this.#agent = agent;
    this.#session = session;
    this.#run = run;
  }

  submitMessage(text: string, key = `said ${text}`, when: 'follow_up' | 'steer' = 'follow_up') {
    const item = { id: key as never, kind: 'user', parts: [{ kind: 'text', text }] } as const;
    const command = { type: 'message', when, items: [item] } as const;
    return submitStep(this.#agent, { session: this.#session, command, key });
  }

  claim(step: number, attempt = 1) {
    return { owner: 'by hand', life: 'one', step, attempt };
  }

  async advance(more: { readonly keepsCut?: boolean } = {}): Promise<Plan> {
    return (await this.advanced(more)).plan;
  }

  async advanced(more: { readonly keepsCut?: boolean } = {}): Promise<AdvanceResult> {
    const claim = this.claim(++this.#step);
    const own = { session: this.#session, claim, runId: runId(this.#run), ...more };
    const advanced = await advance(this.#agent, own);
    this.epoch = advanced.epoch;
    return advanced;
  }

  get held() {
    return { session: this.#session, epoch: this.epoch };
  }

  request(
    turn: number,
    more: { readonly signal?: AbortSignal; readonly leave?: AbortSignal } = {},
  ) {
    return requestStep(this.#agent, { ...this.held, turn, ...more });
  }

  calls(plan: Plan) {
    if (plan.do !== 'tool_calls') throw new Error(`There are no calls to do: ${plan.do}`);
    const { turn, attempt } = plan;
    return Promise.all(
      plan.toolCalls.map(({ toolCallId }) =>
        callStep(this.#agent, { ...this.held, turn, attempt, toolCallId }),
      ),
    );
  }

  /** Drives the run to its end. */
  async drive(): Promise<RunEnd> {
    for (;;) {
      const plan = await this.advance();
      if (plan.do === 'done') return plan;
      if (plan.do === 'idle') throw new Error('There is nothing to do');
      if (plan.do === 'request') await this.request(plan.turn);
      else await this.calls(plan);
    }
  }
}
