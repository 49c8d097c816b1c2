import type { TranscriptAnswer } from '@millrace/temporal/workflow';
import type { AgentInputItem } from '@openai/agents';

type Input = string | AgentInputItem[];

interface Joined {
  /** How much of the SDK's own input stands before it. */
  readonly after: number;
  readonly items: readonly AgentInputItem[];
}

/** What users say while a run goes on. The SDK does not know of it: it joins what its models are asked. */
export class Steering {
  readonly #joined: Joined[] = [];
  #seen: number;

  constructor({ items }: TranscriptAnswer) {
    this.#seen = items.length;
  }

  /** Those that may be news, each once: of what is too large to be here nobody knows who said it. */
  unseen({ items }: TranscriptAnswer): readonly string[] {
    const news = items.slice(this.#seen);
    this.#seen = items.length;
    return news.flatMap((one) =>
      one.by === 'reference' || one.item['kind'] === 'user' ? one.itemId : [],
    );
  }

  /** From now on these stand after what the SDK has by now. */
  join(items: readonly AgentInputItem[], input: Input): void {
    if (items.length > 0) this.#joined.push({ after: listOf(input).length, items });
  }

  /** With all that joined, where it did. */
  applied(input: Input): Input {
    if (this.#joined.length === 0) return input;
    const own = listOf(input);
    const at = (index: number) =>
      this.#joined.flatMap(({ after, items }) =>
        Math.min(after, own.length) === index ? items : [],
      );
    return [...own.flatMap((item, index) => [...at(index), item]), ...at(own.length)];
  }
}

function listOf(input: Input): readonly AgentInputItem[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input;
}
