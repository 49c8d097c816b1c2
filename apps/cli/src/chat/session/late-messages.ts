import type { AgentEvent, Item, JsonObject, JsonValue } from '@millrace/core';
import type { ChatState } from '../contract/chat-state.ts';

/**
 * The messages that this process sent to a run, but that the run did not answer because it was ending. A
 * message is late if the log contains it after the command that stops the run, or after the end of the run.
 */
export class LateMessages {
  /** The messages that the log does not contain yet. */
  readonly #sent = new Set<string>();
  /** The keys of the late messages. */
  readonly #late = new Set<string>();

  /** Registers a message before it is sent. */
  add({ id }: Item): void {
    this.#sent.add(id);
  }

  /** Removes a message that could not be sent. */
  delete({ id }: Item): void {
    this.#sent.delete(id);
  }

  /** Handles an event of the session. `state` is the state after the event. */
  handle(event: AgentEvent, state: Pick<ChatState, 'run' | 'isStopping'>): void {
    if (event.type === 'command_consumed') this.#late.delete(event.key);
    if (event.type !== 'command_queued') return;
    const { key, command } = event;
    // The user stopped all messages before this command.
    if (command['type'] === 'abort') this.#late.clear();
    const isOwn = idsIn(command).some((id) => this.#sent.delete(id));
    if (isOwn && (state.run === undefined || state.isStopping)) this.#late.add(key);
  }

  /** Returns true if a late message is still queued. */
  isIn({ queued }: Pick<ChatState, 'queued'>): boolean {
    return queued.some(({ key }) => this.#late.has(key));
  }

  /** Returns the keys of the late messages, and forgets these messages. */
  take(): readonly string[] {
    const keys = [...this.#late];
    this.#late.clear();
    return keys;
  }
}

/** Returns the ids of the items in a message. Any process can write a command, so its form is unknown. */
function idsIn({ type, items }: JsonObject): readonly string[] {
  if (type !== 'message' || !Array.isArray(items)) return [];
  return items.flatMap((item: JsonValue) => {
    const id = typeof item === 'object' && item !== null && 'id' in item ? item['id'] : undefined;
    return typeof id === 'string' ? id : [];
  });
}
