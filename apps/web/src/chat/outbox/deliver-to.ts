import type { LiveSource } from '../state/live-source.ts';
import type { LiveSources } from '../state/live-sources.ts';
import type { OutboxOptions } from './outbox.ts';

/** Sends by the handle of its session, and tells when the session's stream has it as well. */
export function deliverTo(sources: LiveSources, onSent: () => void): OutboxOptions['deliver'] {
  return async ({ task, text, when, key }) => {
    const source = sources.get(task);
    const { offset } = await source.handle.send(text, { when, key });
    onSent();
    return { seen: offset === undefined ? Promise.resolve() : untilRead(source, offset) };
  };
}

function untilRead(source: LiveSource, offset: number): Promise<void> {
  return new Promise((resolve) => {
    const look = () => {
      const { state, connection } = source.handle.snapshot();
      const isOver = connection.state === 'ended' || connection.state === 'failed';
      if (state.through < offset && !isOver) return;
      leave();
      resolve();
    };
    const leave = source.subscribe(look);
    look();
  });
}
