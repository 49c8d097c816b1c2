import { type AgentEvent, agentEvents, type PartId, PartialJson, type View } from '@millrace/core';

interface LiveValue {
  readonly json: PartialJson;
  /** The current number of characters. `reported` is the number of characters at the last event. */
  length: number;
  reported: number;
}

/**
 * A long value is reported each time it grows by 1/256 of its length. Each report copies the open containers.
 * With this rule, the total cost of all reports stays proportional to the length of the text.
 */
const reportedShare = 256;

/**
 * Returns the view that converts records to events. While structured output streams, the events include its
 * current value.
 */
export function liveEvents(): View<AgentEvent> {
  const live = new LiveValues();
  return (before, record, after) => {
    const events: AgentEvent[] = [];
    for (const event of agentEvents(before, record, after)) live.add(event, events);
    return events;
  };
}

/**
 * Adds `structured_updated` events to the events of a run while structured output streams as JSON text. The
 * text is parsed only once, while it arrives. The last event of a part has its final value.
 */
class LiveValues {
  readonly #open = new Map<PartId, LiveValue>();

  /** Adds the event to the list, followed by the updates that the event causes. */
  add(event: AgentEvent, to: AgentEvent[]): void {
    switch (event.type) {
      case 'part_started':
        if (event.kind === 'text' && event.mimeType === 'application/json')
          this.#open.set(event.partId, { json: new PartialJson(), length: 0, reported: 0 });
        break;
      case 'assistant_text_delta':
        to.push(event);
        // If no structured part is open, the text is plain text and needs no update.
        if (this.#open.size > 0) this.#grow(event, to);
        return;
      case 'part_finished':
        if (event.part?.kind === 'structured') to.push(updateOf(event, event.part.value));
        this.#open.delete(event.partId);
        break;
      case 'part_retracted':
        this.#open.delete(event.partId);
        break;
      // Until this event, the parts of a superseded attempt stay open.
      case 'response_started':
      case 'run_finished':
        this.#open.clear();
        break;
      default:
    }
    to.push(event);
  }

  #grow(
    event: Extract<AgentEvent, { readonly type: 'assistant_text_delta' }>,
    to: AgentEvent[],
  ): void {
    const live = this.#open.get(event.partId);
    if (live === undefined) return;
    const changes = live.json.feed(event.text);
    live.length += event.text.length;
    if (changes.length === 0) return;
    if (live.length - live.reported < live.length / reportedShare) return;
    live.reported = live.length;
    const { value } = live.json;
    if (value !== undefined) to.push(updateOf(event, value));
  }
}

type PartEvent = Extract<AgentEvent, { readonly type: 'assistant_text_delta' | 'part_finished' }>;
type Update = Extract<AgentEvent, { readonly type: 'structured_updated' }>;

function updateOf(event: PartEvent, value: Update['value']): Update {
  const { session, offset, time, turn, attempt, partId, itemId } = event;
  const type = 'structured_updated';
  return { type, session, offset, time, turn, attempt, partId, itemId, value };
}
