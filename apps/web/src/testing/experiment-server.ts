import { createAgent } from '@millrace/agent';
import { type EvalCase, judge, matchesText, runExperiment } from '@millrace/agent/evals';
import { type Log, memoryLog } from '@millrace/log';
import { createProvider, type ModelRequest, type Provider } from '@millrace/providers';
import { scriptedProvider } from '@millrace/providers/scripted';
import { createServer, type Server } from '@millrace/server';
import { builtPage } from '../e2e/testing/built-page.ts';

/** The variants, and how often each of them answers wrongly: every n-th case. */
const variants = { plain: 3, brief: 5, careful: 9 } as const;

/**
 * A server whose log has two experiments, and a third experiment that is running. The third one waits until the
 * test lets it continue.
 */
export class ExperimentServer {
  readonly #server: Server;
  readonly #log: Log = memoryLog();
  readonly #gate: PromiseWithResolvers<void> = Promise.withResolvers<void>();
  #running: Promise<unknown> = Promise.resolve();
  #url = '';

  private constructor() {
    this.#server = createServer({ tokens: 'none', log: this.#log, page: builtPage() });
  }

  /** Runs the experiments and starts the server. `caseCount` is the number of cases of the first one. */
  static async start(caseCount: number): Promise<ExperimentServer> {
    const server = new ExperimentServer();
    await server.#run('refunds', casesOf(caseCount));
    await server.#run('refunds-2', casesOf(8), 7);
    server.#running = server.#run('live', casesOf(4), 0, server.#gate.promise);
    server.#url = (await server.#server.listen({ port: 0 })).url;
    return server;
  }

  get url(): string {
    return this.#url;
  }

  /** Lets the running experiment end. */
  async finish(): Promise<void> {
    this.#gate.resolve();
    await this.#running;
  }

  async close(): Promise<void> {
    await this.finish();
    await this.#server.close();
    await this.#log.close();
  }

  #run(
    name: string,
    cases: readonly EvalCase[],
    shift = 0,
    gate?: Promise<void>,
  ): Promise<unknown> {
    const log = this.#log;
    const agents = Object.entries(variants).map(([variant, every]) => {
      const provider = model(every, shift, gate);
      return [variant, createAgent({ log, provider, instructions: `Be ${variant}.` })] as const;
    });
    return runExperiment({
      ...{ name, log, cases, variants: Object.fromEntries(agents), repeats: 2, concurrency: 1 },
      scorers: [
        matchesText({ name: 'correct', compare: 'contains' }),
        judge({ name: 'polite', provider: voter(), criteria: 'The answer is polite.' }),
      ],
    });
  }
}

const topics = ['late parcel', 'broken cup', 'wrong size', 'gift card', 'lost invoice', 'return'];

function casesOf(count: number): readonly EvalCase[] {
  return Array.from({ length: count }, (_, index) => {
    const id = `${topics[index % topics.length]} ${index + 1}`;
    return { id, input: `${index + 1}: A customer writes about a ${id}.`, expected: 'refund' };
  });
}

/** A model that answers every n-th case wrongly. With a gate, the second repeat waits for it. */
function model(every: number, shift: number, gate: Promise<void> | undefined): Provider {
  let asked = 0;
  return createProvider('demo', 'demo-1', async function* (request, context) {
    const number = Number.parseInt(lastText(request), 10);
    asked++;
    if (gate !== undefined && asked > 4) await gate;
    const isWrong = (number + shift) % every === 0;
    const answer = isWrong ? 'Please wait a little longer.' : 'You get a refund today.';
    const cost = { amount: (0.001 * every).toFixed(4), currency: 'USD' };
    const usage = { input: 400 + 20 * number, output: 12 * every, costs: [cost] };
    yield* scriptedProvider([{ content: { parts: [answer] }, usage }]).stream(request, context);
  });
}

function voter(): Provider {
  return createProvider('demo', 'judge-1', async function* (request, context) {
    const isPolite = lastText(request).includes('refund today');
    const vote = isPolite
      ? { reason: 'It offers help at once and in a friendly way.', score: 0.9 }
      : { reason: 'It asks the customer to wait, without an apology.', score: 0.3 };
    yield* scriptedProvider([JSON.stringify(vote)]).stream(request, context);
  });
}

function lastText({ items }: ModelRequest): string {
  const [part] = items.findLast(({ kind }) => kind === 'user')?.parts ?? [];
  return part?.kind === 'text' ? part.text : '';
}
