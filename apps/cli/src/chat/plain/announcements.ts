import { modeTexts } from '../../agent/session-mode.ts';
import type { ChatApp } from '../chat-app.ts';
import type { QueuedMessage } from '../contract/chat-state.ts';
import { type Activity, activityText, currentActivity } from '../render/activity-line.ts';
import { clipText, type Look } from '../render/look.ts';
import { taskLines } from '../render/task-lines.ts';

/** The state that the chat announces when it changes. A screen shows it all the time. */
export interface Situation {
  readonly session: string;
  readonly mode: string;
  readonly model: string;
  readonly holder: string | undefined;
  readonly isBusy: boolean;
  readonly activity: Activity;
  readonly queued: readonly QueuedMessage[];
  /** The lines of the task list. */
  readonly tasks: readonly string[];
  readonly connecting: readonly string[];
}

export function situationOf(look: Look, app: ChatApp): Situation {
  const { conversation, state, built } = app;
  return {
    session: conversation.session,
    mode: modeTexts[built.mode()].label,
    model: built.chosen.label,
    holder: conversation.holder,
    isBusy: app.isBusy,
    activity: currentActivity(state),
    queued: state.queued,
    tasks: taskLines(look, state.tasks),
    connecting: built.servers.connecting(),
  };
}

/** Returns the lines for what has changed. `before` is undefined at the start of the chat. */
export function announcements(
  look: Look,
  before: Situation | undefined,
  now: Situation,
): readonly string[] {
  const { mode, model, holder, connecting } = now;
  const isStart = before === undefined;
  const isSame = before?.session === now.session;
  const lines = [
    before?.mode === mode ? [] : [`Mode: ${mode}.${isStart ? ' Shift-Tab changes it.' : ''}`],
    isStart || before.model === model ? [] : [`Model: ${model}.`],
    holder === undefined || before?.holder === holder ? [] : [`Driven by ${holder}.`],
    connecting.length === 0 || before?.connecting.join() === connecting.join()
      ? []
      : [`Connecting to ${connecting.join(', ')}.`],
    before?.isBusy === now.isBusy ? [] : now.isBusy ? ['Working.'] : isStart ? [] : ['Done.'],
    urgentActivity(before, now),
    now.queued.filter((one) => !before?.queued.some(({ key }) => key === one.key)).map(queuedText),
    isSame && before.tasks.join() !== now.tasks.join() && now.tasks.length > 0
      ? ['Tasks:', ...now.tasks]
      : [],
  ].flat();
  return lines.map((line) => (line.startsWith(' ') ? line : clipText(line, look.width)));
}

/** Returns the activities that the user must learn immediately. */
function urgentActivity(before: Situation | undefined, now: Situation): readonly string[] {
  const { activity } = now;
  const earlier = before?.activity;
  if (activity.type === 'retry') {
    const isKnown = earlier?.type === 'retry' && earlier.attempt === activity.attempt;
    return isKnown ? [] : [`Trying again soon (${activity.attempt}): ${activity.problem}`];
  }
  if (activity.type !== 'stopping' && activity.type !== 'summary') return [];
  return earlier?.type === activity.type
    ? []
    : [`${sentence(activityText(activity, 0, '') ?? '')}`];
}

/** Returns the line for an activity that lasts. Returns undefined if the text itself shows it, or another line. */
export function lastingActivity(look: Look, { activity, model }: Situation): string | undefined {
  switch (activity.type) {
    case 'model':
    case 'thinking':
    case 'tools':
      return clipText(sentence(activityText(activity, 0, model) ?? ''), look.width);
    case 'idle':
    case 'approval':
    case 'stopping':
    case 'summary':
    case 'answer':
    case 'retry':
    case 'working':
      return undefined;
  }
}

function queuedText({ when, text }: QueuedMessage): string {
  return `${when === 'steer' ? 'For the next step' : 'Queued'}: ${text}`;
}

function sentence(text: string): string {
  return `${text.charAt(0).toUpperCase()}${text.slice(1)}.`;
}
