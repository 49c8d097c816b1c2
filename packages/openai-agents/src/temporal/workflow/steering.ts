import type { TranscriptAnswer } from '@millrace/temporal/workflow';
import type { AgentInputItem } from '@openai/agents';

type Input = string | AgentInputItem[];

interface InsertedItems {
  /** The number of input items of the SDK that come before the inserted items. */
  readonly after: number;
  readonly items: readonly AgentInputItem[];
}

/**
 * Inserts messages that users send during a run into the model's input, because the SDK does not receive
 * these messages.
 */
export class Steering {
  readonly #inserted: InsertedItems[] = [];
  #seen: number;

  constructor({ items }: TranscriptAnswer) {
    this.#seen = items.length;
  }

  /**
   * Returns the ids of items that may be new user messages. It returns each id only once. The kind of an item
   * that is only a reference is unknown, so the result includes its id.
   */
  newItemIds({ items }: TranscriptAnswer): readonly string[] {
    const newItems = items.slice(this.#seen);
    this.#seen = items.length;
    return newItems.flatMap((one) =>
      one.by === 'reference' || one.item['kind'] === 'user' ? one.itemId : [],
    );
  }

  /** Inserts items after the SDK's current input. */
  insert(items: readonly AgentInputItem[], input: Input): void {
    if (items.length > 0) this.#inserted.push({ after: listOf(input).length, items });
  }

  /** Returns the input with all inserted items at their positions. */
  apply(input: Input): Input {
    if (this.#inserted.length === 0) return input;
    const own = listOf(input);
    const at = (index: number) =>
      this.#inserted.flatMap(({ after, items }) =>
        Math.min(after, own.length) === index ? items : [],
      );
    return [...own.flatMap((item, index) => [...at(index), item]), ...at(own.length)];
  }
}

function listOf(input: Input): readonly AgentInputItem[] {
  return typeof input === 'string' ? [{ role: 'user', content: input }] : input;
}
