import { agentEvents, encodeEvent } from '@millrace/core';
import type { FrameView } from '../contract/stream.ts';
import { numberFrames } from './frame-ids.ts';

/** Agent events. */
export const eventsView: FrameView = {
  name: 'events',
  settles: true,
  frames: (before, record, after) =>
    numberFrames(
      record.offset,
      agentEvents(before, record, after).map((event) => ({ data: encodeEvent(event) })),
    ),
  restate: () => [],
};
