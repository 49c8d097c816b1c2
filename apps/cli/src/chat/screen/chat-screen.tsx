import { Box, Static, Text, useApp, useWindowSize } from 'ink';
import {
  type ReactElement,
  useEffect,
  useLayoutEffect,
  useMemo,
  useState,
  useSyncExternalStore,
} from 'react';
import type { CompletionSources } from '../../input/completion/completion.ts';
import {
  FileList,
  maxWorkspaceFiles,
  workspaceFiles,
} from '../../input/completion/workspace-files.ts';
import type { HistoryEntry } from '../../input/editor/editor-state.ts';
import { useKeys } from '../../input/keys/use-keys.ts';
import { Prompt, type PromptProps, promptAbove, promptHeight } from '../../input/prompt/prompt.tsx';
import { type Editor, useEditor } from '../../input/prompt/use-editor.ts';
import type { ChatApp } from '../chat-app.ts';
import { commandTable } from '../commands/command-table.ts';
import { note } from '../contract/block.ts';
import { askLines } from '../dialog/dialog-lines.ts';
import type { SideEdit } from '../dialog/side-input.ts';
import { activityLine, queuedLines } from '../render/activity-line.ts';
import { liveLines } from '../render/live-lines.ts';
import { statusLine } from '../render/status-line.ts';
import { liveRows, type ScreenLayout, screenLayout } from './screen-layout.ts';
import { useSideEditor } from './use-side-editor.ts';

interface ChatRootProps {
  readonly app: ChatApp;
  readonly history: readonly HistoryEntry[];
  readonly onSent: (entry: HistoryEntry) => void;
}

/** The screen with what can be completed in it: commands, and the folder's files as they are found. */
export function ChatRoot({ app, history, onSent }: ChatRootProps): ReactElement {
  const [files, setFiles] = useState<readonly string[]>([]);
  const { cwd, env, clock } = app;
  const fileList = useMemo(
    () =>
      new FileList({
        list: (signal) => workspaceFiles({ cwd, env, signal }),
        onChange: (found) => {
          setFiles(found);
          if (found.length >= maxWorkspaceFiles) tellTooMany(app);
        },
        clock,
      }),
    [app, cwd, env, clock],
  );
  useEffect(() => () => fileList.close(), [fileList]);
  const sources = useMemo(() => ({ files, commands: commandsOf(app) }), [files, app]);
  const onFilesWanted = () => void fileList.refresh();
  return <ChatScreen {...{ app, sources, history, onSent, onFilesWanted }} />;
}

const told = new WeakSet<ChatApp>();

function tellTooMany(app: ChatApp): void {
  if (told.has(app)) return;
  told.add(app);
  const most = maxWorkspaceFiles.toLocaleString('en');
  app.print(note('mark', `There are more than ${most} files here: @ finds those alone.`));
}

function commandsOf(app: ChatApp) {
  return commandTable.map(({ name, description, argument, choices }) => ({
    name,
    description,
    ...(choices !== undefined && { choices: () => choices(app) }),
    // What may be left out need not be waited for.
    takesText: argument !== undefined && !argument.startsWith('['),
  }));
}

interface ChatScreenProps {
  readonly app: ChatApp;
  readonly sources: CompletionSources;
  readonly history: readonly HistoryEntry[];
  readonly onSent: (entry: HistoryEntry) => void;
  readonly onFilesWanted: () => void;
}

/** What was printed, once, and below it what is open, asked and typed. */
function ChatScreen(props: ChatScreenProps): ReactElement {
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

interface PromptSetting {
  readonly width: number;
  readonly rows: number;
  readonly isBusy: boolean;
  readonly side: SideEdit | undefined;
  /** What was wrong with what was typed there. */
  readonly problem: string | undefined;
  /** Instead of what the keys do. */
  readonly hint: string | undefined;
}

/** What has to have room beside the prompt, even if that is long. */
const rowsBeside = 9;
const placeholder = 'Say what to do. / for commands, @ for files';

/** The prompt as it fits: fewer rows of it, and no hint, where there is no room. */
function promptProps({ state, menu }: Editor, setting: PromptSetting): PromptProps {
  const { width, rows, isBusy, side, problem } = setting;
  const most = Math.max(1, rows - rowsBeside);
  const sized = { width, maxRows: Math.min(10, most), maxMenuRows: Math.min(8, most) };
  const hint = side === undefined ? setting.hint : (problem ?? side.title);
  return {
    ...{ state, menu, isBusy, ...sized },
    hint: hint ?? (rows < rowsBeside ? '' : undefined),
    ...(side === undefined && { placeholder }),
  };
}
