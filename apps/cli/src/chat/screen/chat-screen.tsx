import { Box, Static, useApp } from 'ink';
import {
  type ReactElement,
  useEffect,
  useLayoutEffect,
  useMemo,
  useRef,
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
import type { Key } from '../../input/keys/key.ts';
import { useKeys } from '../../input/keys/use-keys.ts';
import { Prompt, type PromptProps, promptAbove, promptHeight } from '../../input/prompt/prompt.tsx';
import { type Editor, useEditor } from '../../input/prompt/use-editor.ts';
import type { ChatApp } from '../chat-app.ts';
import { drawDialog } from '../dialog/dialog-lines.ts';
import type { ContentView } from '../dialog/read-content.ts';
import type { SideInput } from '../dialog/side-input.ts';
import { activityLine, queuedLines } from '../render/activity-line.ts';
import { liveLines } from '../render/live-lines.ts';
import { statusLines } from '../render/status-line.ts';
import { liveTaskLines } from '../render/task-lines.ts';
import { FrameLines, PrintedLines } from './drawn-lines.tsx';
import {
  completableCommands,
  needsOwnKeys,
  pastesPicture,
  runKeyCommand,
  warnTooManyFiles,
} from './prompt-commands.ts';
import { routeKeys } from './route-keys.ts';
import { maxLiveRows, type ScreenLayout, screenLayout } from './screen-layout.ts';
import { useSideEditor } from './use-side-editor.ts';

interface ChatRootProps {
  readonly app: ChatApp;
  readonly history: readonly HistoryEntry[];
  readonly onSent: (entry: HistoryEntry) => void;
}

/** The chat screen. It completes the names of commands and of files in the folder. */
export function ChatRoot({ app, history, onSent }: ChatRootProps): ReactElement {
  const [files, setFiles] = useState<readonly string[]>([]);
  const { cwd, env, clock } = app;
  const fileList = useMemo(
    () =>
      new FileList({
        list: (signal) => workspaceFiles({ cwd, env, signal }),
        onChange: (found) => {
          setFiles(found);
          if (found.length >= maxWorkspaceFiles) warnTooManyFiles(app);
        },
        clock,
      }),
    [app, cwd, env, clock],
  );
  useEffect(() => () => fileList.close(), [fileList]);
  const sources = useMemo(() => ({ files, commands: completableCommands(app) }), [files, app]);
  const onFilesWanted = () => void fileList.refresh();
  return <ChatScreen {...{ app, sources, history, onSent, onFilesWanted }} />;
}

interface ChatScreenProps {
  readonly app: ChatApp;
  readonly sources: CompletionSources;
  readonly history: readonly HistoryEntry[];
  readonly onSent: (entry: HistoryEntry) => void;
  readonly onFilesWanted: () => void;
}

/**
 * Draws each printed block once. Below the printed blocks, it draws the live content, the dialog
 * and the prompt.
 */
function ChatScreen(props: ChatScreenProps): ReactElement {
  const { app, sources, history, onSent, onFilesWanted } = props;
  const { display, dialogs, isBusy, clock } = app;
  const snapshot = useSyncExternalStore(display.subscribe, display.snapshot);
  const { columns: width, rows } = snapshot.size;
  const isPromptFree = dialogs.list === undefined;
  const { sideInput } = dialogs;
  // A question closes the earlier messages, so that the user sees it.
  useEffect(() => {
    if (!isPromptFree) app.scrollBack.leave();
  }, [app, isPromptFree]);
  const earlier = isPromptFree ? app.scrollBack.lines : undefined;
  const hidesPrompt = earlier !== undefined || (!isPromptFree && sideInput === undefined);
  const editor: Editor = useEditor({
    onKey: (key) => app.vim.press(key, editor),
    ...{ onSubmit: app.submit, onQueue: app.queue, onStop: app.stop, onLeave: app.quit },
    ...{ onSent, onFilesWanted, sources, history },
    onEscape: app.escapeIdle,
    needsOwnKeys: (text, isFolded) => needsOwnKeys(app, text, isFolded),
    ...{ onInterrupt: app.interrupt, onEmptyEnter: () => void app.conversation.retry() },
    onTakeBack: app.conversation.hasQueued ? app.withdrawLast : undefined,
    ...{ isBusy, width, clock, isActive: false },
  });
  const sideEditor = useSideEditor(app, width);
  const { dispatch } = editor;
  const { snapshot: current } = editor;
  useEffect(
    () =>
      app.onPrompt({
        putBack: (text) => dispatch({ type: 'put_back', text }),
        set: (text, typed) => dispatch({ type: 'set', text, typed }),
        text: () => current().state.text,
        history: () => current().state.history,
      }),
    [app, dispatch, current],
  );
  const targets = {
    ...{ prompt: editor.press, side: sideEditor.press },
    command: (key: Key) =>
      pastesPicture(app, key, (text) => dispatch({ type: 'insert', text, isWhole: true })) ||
      runKeyCommand(app, key, current().state.text),
    hasCommand: () => current().state.text.startsWith('/'),
  };
  const withoutKeys = useKeys((read) => routeKeys(app, read, targets), { clock });
  const { suspendTerminal } = useApp();
  useEffect(
    () => app.onSuspend((work) => suspendTerminal(() => withoutKeys(work))),
    [app, suspendTerminal, withoutKeys],
  );
  const { problem } = sideEditor;
  const shown = sideInput === undefined ? editor : sideEditor.editor;
  const prompt = promptProps(shown, { width, rows, isBusy, sideInput, problem, hint: app.hint });
  const promptRows = hidesPrompt ? 0 : promptHeight(prompt);
  const typed = hidesPrompt ? editor.state.text : '';
  const { above, below, view, question } =
    earlier === undefined
      ? layoutOf(app, { rows, promptRows, typed })
      : { above: earlier, below: [], view: undefined, question: '' };
  const drawnQuestion = useRef('');
  useLayoutEffect(() => {
    // The renderer draws differences, whose columns are wrong if the terminal draws other widths than it assumes.
    if (question !== drawnQuestion.current && question !== '') display.drawWhole();
    drawnQuestion.current = question;
    // A question counts as shown only if this frame reaches the terminal.
    if (view !== undefined && display.isVisible) dialogs.markShown(view);
    const { lines, column } = promptAbove(prompt);
    const height = above.length + promptRows + below.length;
    // While a dialog is open, there is no prompt, and the cursor is below all lines.
    display.renderedFrame = hidesPrompt
      ? { lines: [...above, ...below], column: 0, height }
      : { lines: [...above, ...lines], column, height };
    display.laidOut();
  });
  const printed = (
    <Static key={snapshot.printed.number} items={[snapshot.printed.lines]}>
      {(lines) => <PrintedLines key="printed" lines={lines} />}
    </Static>
  );
  // After the end of the chat only the printed content stays on the screen. The prompt disappears.
  if (snapshot.isOver) return printed;
  return (
    <>
      {printed}
      <Box flexDirection="column" maxHeight={maxLiveRows(rows)} overflow="hidden">
        <FrameLines lines={above} mayWrap={isPromptFree} />
        {hidesPrompt ? null : <Prompt {...prompt} top={above.length} />}
        <FrameLines lines={below} mayWrap={isPromptFree} />
      </Box>
    </>
  );
}

interface LayoutSetting {
  readonly rows: number;
  readonly promptRows: number;
  /** The text in the prompt while a dialog hides the prompt, so that the dialog can show it. */
  readonly typed: string;
}

/**
 * Creates the layout of everything except the prompt. Also returns the part of the content that the
 * dialog shows.
 */
function layoutOf(
  app: ChatApp,
  { rows, promptRows, typed }: LayoutSetting,
): ScreenLayout & { readonly view: ContentView | undefined; readonly question: string } {
  const { display, dialogs, isBusy, state, built, conversation } = app;
  const { look, printer } = display;
  const moment = { ...display.snapshot().moment, now: app.now };
  const { chosen } = built;
  const { list, dialog, sideInput } = dialogs;
  const isDialogOpen = dialog !== undefined && list !== undefined && sideInput === undefined;
  const needsAnswer = isDialogOpen && dialog.type !== 'pick';
  const dialogCallId = isDialogOpen && dialog.type === 'approval' ? dialog.approval.id : undefined;
  const { contentFrom: from, readiness } = dialogs;
  let view: ContentView | undefined;
  let question = '';
  const draw = (room: number) => {
    if (dialog === undefined || list === undefined) return [];
    const drawn = drawDialog(look, dialog, list, { room, from, readiness, typed });
    view = drawn.view;
    question = drawn.lines.join('\n');
    return drawn.lines;
  };
  const layout = screenLayout({
    ...{ rows, promptRows },
    queued: [...liveTaskLines(look, state.tasks), ...queuedLines(look, state)],
    status: statusLines(
      look,
      {
        ...{ chosen, stats: state.stats, holder: conversation.holder, place: app.place.text },
        isWhole: conversation.isWhole,
        mode: built.mode(),
        connecting: built.servers.connecting(),
        running: runningIn(app),
        texts: built.extensions.code?.status(),
      },
      rows,
    ),
    activity: isBusy
      ? activityLine(look, state, { moment, label: chosen.label, isDialogOpen: needsAnswer })
      : undefined,
    dialog: isDialogOpen ? draw : undefined,
    live: (room) => liveLines(look, state, { room, moment, printer, dialogCallId }),
  });
  return { ...layout, view, question };
}

/** Returns the number of background commands of the session that run now. */
function runningIn({ built, conversation }: ChatApp): number {
  const all = built.background?.list(conversation.session) ?? [];
  return all.filter(({ end }) => end === undefined).length;
}

interface PromptLayout {
  readonly width: number;
  readonly rows: number;
  readonly isBusy: boolean;
  readonly sideInput: SideInput | undefined;
  /** The problem with the typed text. Undefined if there is none. */
  readonly problem: string | undefined;
  /** A hint that replaces the default hint. */
  readonly hint: string | undefined;
}

/** The number of rows above a long prompt that stay free. */
const reservedRows = 9;
/** The texts in an empty prompt. It shows the first one that fits. */
const placeholders = [
  'Say what to do. / for commands, @ for files, ! for a shell',
  'Say what to do. / for commands',
  'Say what to do.',
];

/**
 * Returns the properties of the prompt for the size of the screen. In a low window, the prompt has
 * fewer rows and no hint.
 */
function promptProps({ state, menu }: Editor, setting: PromptLayout): PromptProps {
  const { width, rows, isBusy, sideInput, problem } = setting;
  const limit = Math.max(1, rows - reservedRows);
  const sized = { width, maxRows: Math.min(10, limit), maxMenuRows: Math.min(8, limit) };
  const hint = sideInput === undefined ? setting.hint : (problem ?? sideInput.title);
  return {
    ...{ state, menu, isBusy, ...sized },
    hint: hint ?? (rows < reservedRows ? '' : undefined),
    ...(sideInput === undefined && {
      placeholder: placeholders.find(({ length }) => length < width - 2) ?? placeholders.at(-1),
    }),
  };
}
