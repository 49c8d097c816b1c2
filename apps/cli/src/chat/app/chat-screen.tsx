import { Box, Static, Text, useApp, useWindowSize } from 'ink';
import { type ReactElement, useEffect, useLayoutEffect, useSyncExternalStore } from 'react';
import type { CompletionSources } from '../../input/completion.ts';
import type { HistoryEntry } from '../../input/editor-state.ts';
import { Prompt, promptAbove, promptHeight } from '../../input/prompt.tsx';
import { useEditor } from '../../input/use-editor.ts';
import { useKeys } from '../../input/use-keys.ts';
import { askLines } from '../ask/ask-lines.ts';
import { activityLine, queuedLines } from '../render/activity-line.ts';
import { liveLines } from '../render/live-lines.ts';
import { statusLine } from '../render/status-line.ts';
import type { ChatApp } from './chat-app.ts';
import { promptProps } from './prompt-props.ts';
import { liveRows, type ScreenLayout, screenLayout } from './screen-layout.ts';
import { useSideEditor } from './use-side-editor.ts';

export interface ChatScreenProps {
  readonly app: ChatApp;
  readonly sources: CompletionSources;
  readonly history: readonly HistoryEntry[];
  readonly onSent: (entry: HistoryEntry) => void;
  readonly onFilesWanted: () => void;
}

/** What was printed, once, and below it what is open, asked and typed. */
export function ChatScreen(props: ChatScreenProps): ReactElement {
  const { app, sources, history, onSent, onFilesWanted } = props;
  const { display, asking, isBusy, clock } = app;
  const picture = useSyncExternalStore(display.subscribe, display.snapshot);
  const { columns: width, rows } = useWindowSize();
  const isFree = asking.list === undefined;
  const { side } = asking;
  const isAsked = !isFree && side === undefined;
  const editor = useEditor({
    ...{ onSubmit: app.submit, onQueue: app.queue, onStop: app.stop, onLeave: app.quit },
    ...{ onKey: app.press, onSent, onFilesWanted, sources, history },
    ...{ onInterrupt: app.interrupt, onEmptyEnter: () => void app.conversation.retry() },
    onTakeBack: app.conversation.hasQueued ? app.takeBack : undefined,
    ...{ isBusy, width, clock, isActive: isFree },
  });
  const aside = useSideEditor(app, width);
  const { dispatch } = editor;
  useEffect(() => app.putBackBy((text) => dispatch({ type: 'put_back', text })), [app, dispatch]);
  const { suspendTerminal } = useApp();
  useEffect(() => app.suspendBy(suspendTerminal), [app, suspendTerminal]);
  useKeys((key) => void (app.press(key) || asking.press(key)), { isActive: isAsked, clock });
  const { problem } = aside;
  const shown = side === undefined ? editor : aside.editor;
  const prompt = promptProps(shown, { width, rows, isBusy, side, problem, hint: app.hint });
  const promptRows = isAsked ? 0 : promptHeight(prompt);
  const { above, below } = layoutOf(app, rows, promptRows);
  useLayoutEffect(() => {
    const { lines, column } = promptAbove(prompt);
    const height = above.length + promptRows + below.length;
    // Without a cursor in the prompt, it stands below everything.
    display.drawing = isAsked
      ? { lines: [...above, ...below], column: 0, height }
      : { lines: [...above, ...lines], column, height };
  });
  const printed = (
    <Static key={picture.printed.number} items={[picture.printed.lines]}>
      {(lines) => <Lines key="printed" lines={lines} />}
    </Static>
  );
  // What is left behind is what was said, and nothing that could be taken for a prompt.
  if (picture.isOver) return printed;
  return (
    <>
      {printed}
      <Box flexDirection="column" maxHeight={liveRows(rows)} overflow="hidden">
        <Lines lines={above} />
        {isAsked ? null : <Prompt {...prompt} top={above.length} />}
        <Lines lines={below} />
      </Box>
    </>
  );
}

/** All but the prompt. */
function layoutOf(app: ChatApp, rows: number, promptRows: number): ScreenLayout {
  const { display, asking, isBusy, state, built, conversation } = app;
  const { look, printer } = display;
  const moment = { ...display.snapshot().moment, now: app.now };
  const { chosen } = built;
  const { list, ask, side } = asking;
  const isAsked = ask !== undefined && list !== undefined && side === undefined;
  const isAnswerWanted = isAsked && ask.type !== 'pick';
  const askedId = isAsked && ask.type === 'approval' ? ask.approval.id : undefined;
  return screenLayout({
    ...{ rows, promptRows, queued: queuedLines(look, state) },
    status: statusLine(look, { chosen, numbers: state.numbers, holder: conversation.holder }),
    activity: isBusy
      ? activityLine(look, state, { moment, label: chosen.label, isAsked: isAnswerWanted })
      : undefined,
    ask: isAsked ? (room) => askLines(look, ask, list, room) : undefined,
    live: (room) => liveLines(look, state, { room, moment, printer, askedId }),
  });
}

/** One element a line: what did not change need not be measured again. */
function Lines({ lines }: { readonly lines: readonly string[] }): ReactElement {
  return (
    <Box flexDirection="column" flexShrink={0}>
      {lines.map((line, index) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: a line is its place
        <Text key={index} wrap="truncate-end">
          {line === '' ? ' ' : line}
        </Text>
      ))}
    </Box>
  );
}
