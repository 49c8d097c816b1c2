import type { FrameView, ViewName } from '../contract/stream.ts';
import { uiView } from '../ui/ui-view.ts';
import { updatesView } from '../updates/updates-view.ts';
import { eventsView } from './events-view.ts';
import { recordsView } from './records-view.ts';

/** What a stream can be asked for, by name. */
export type Views = Readonly<Partial<Record<ViewName, FrameView>>>;

export const views: Views = {
  records: recordsView,
  events: eventsView,
  updates: updatesView,
  ui: uiView,
};
