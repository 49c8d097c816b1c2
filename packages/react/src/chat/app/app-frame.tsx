import type { JsonObject, ToolCallPart } from '@millrace/core';
import { safeLink } from '@millrace/markdown';
import { useLayoutEffect, useRef, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { withoutToken } from '../../markdown/link-view.tsx';
import { isDark } from '../../markdown/rich/frame-view.tsx';
import { useKeyboardGuard } from '../../markdown/rich/keyboard-guard.ts';
import { useAnswerGate } from '../approval/answer-gate.ts';
import { ReadArea } from '../approval/read-area.tsx';
import { drafts } from '../composer/draft.ts';
import { VisibleText } from '../content/visible-text.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { AppHost } from './app-host.ts';
import type { StoredApp } from './stored-app.ts';

/** The heights of an app in pixels. */
export const appHeights = { first: 240, least: 40, most: 800 };

/** The content of an app: its document, and the result of its tool. */
export interface AppContent {
  readonly html: string;
  readonly result: JsonObject;
}

/** The properties of `AppFrame`. */
export interface AppFrameProps {
  readonly source: ChatSource;
  readonly call: ToolCallPart;
  readonly app: StoredApp;
  readonly content: AppContent;
  readonly url: string;
  readonly onClosed: () => void;
  /** Calls a tool of the server. Undefined if the user can only read. */
  readonly callTool: ((name: string, given: JsonObject) => Promise<JsonObject>) | undefined;
  readonly height: number;
  readonly onHeight: (height: number) => void;
}

/**
 * What the app wants to do: open an address, or put a text into the message field. `answer` receives the answer
 * of the user.
 */
interface AppQuestion {
  readonly kind: 'link' | 'message';
  readonly text: string;
  readonly answer: (isAllowed: boolean) => void;
}

/** After this many refused questions, the page no longer asks. */
const maxRefusals = 3;

/** Runs an app in a sandboxed frame, and answers its messages. */
export function AppFrame(props: AppFrameProps) {
  const { source, call, app, content, url, onClosed, callTool, height, onHeight } = props;
  const t = useLabels();
  const frame = useRef<HTMLIFrameElement>(null);
  const { isInUse, use } = useKeyboardGuard(frame, true, onClosed);
  const [question, setQuestion] = useState<AppQuestion>();
  const refusals = useRef(0);
  // The host reads the newest values, but it exists as long as the document in the frame.
  const values = { source, call, isInUse, question, callTool, locale: t.locale };
  const now = useRef(values);
  now.current = values;
  // A layout effect runs before the frame can load. A later effect could miss its first message.
  useLayoutEffect(() => {
    const ask = (kind: AppQuestion['kind'], text: string): Promise<boolean> => {
      const { isInUse: isActive, question: open } = now.current;
      if (!isActive || open !== undefined || refusals.current >= maxRefusals)
        return Promise.resolve(false);
      // When a dialog closes, the focus returns to the element that had it. The frame would get the focus
      // without a press of the user, which the keyboard guard counts as an attack.
      frame.current?.blur();
      return new Promise((answer) => setQuestion({ kind, text, answer }));
    };
    const post = (message: object) =>
      // The origin of a sandboxed frame has no name, so the target must be `*`.
      frame.current?.contentWindow?.postMessage(message, '*');
    const host = new AppHost({
      ...{ post, onHeight, onAbuse: onClosed },
      tools: now.current.callTool === undefined ? [] : app.tools,
      context: () => hostContext(app, now.current.call, frame.current, now.current.locale),
      onInitialized: () => {
        const input = now.current.call.input ?? {};
        host.notify('ui/notifications/tool-input', { arguments: input });
        host.notify('ui/notifications/tool-result', content.result);
      },
      openLink: (asked) => {
        const safe = withoutToken(safeLink(asked));
        const isWeb = safe !== undefined && /^https?:/i.test(safe) && safe.length <= 2000;
        return isWeb ? ask('link', safe) : Promise.resolve(false);
      },
      compose: (text) =>
        now.current.callTool === undefined ? Promise.resolve(false) : ask('message', text),
      callTool: (name, given) =>
        now.current.callTool?.(name, given) ?? Promise.reject(new Error('This session is closed')),
    });
    let isStarted = false;
    const receive = ({ source: from, data }: MessageEvent<unknown>) => {
      if (from === null || from !== frame.current?.contentWindow) return;
      if ((data as { readonly frame?: unknown } | null)?.frame !== 'ready') {
        if (isStarted) host.receive(data);
        return;
      }
      // A second document in the frame is not the app.
      if (isStarted) return onClosed();
      isStarted = true;
      post({ kind: 'app', text: content.html, isDark: isDark() });
    };
    window.addEventListener('message', receive);
    const stopWatching = watchTheme(() =>
      host.notify('ui/notifications/host-context-changed', { theme: themeName() }),
    );
    return () => {
      host.close();
      stopWatching();
      window.removeEventListener('message', receive);
    };
  }, [app, content, onClosed, onHeight]);
  const answer = (isAllowed: boolean) => {
    if (question === undefined) return;
    const { kind, text } = question;
    if (!isAllowed) refusals.current += 1;
    else if (kind === 'link') window.open(text, '_blank', 'noopener,noreferrer');
    else drafts.add(source.id, text);
    question.answer(isAllowed);
    setQuestion(undefined);
  };
  return (
    <>
      <iframe
        ref={frame}
        className="preview-frame app-frame"
        title={t.appOf(app.server)}
        src={url}
        sandbox="allow-scripts allow-forms"
        referrerPolicy="no-referrer"
        height={height}
        tabIndex={isInUse ? 0 : -1}
      />
      {!isInUse && (
        <button type="button" className="preview-shield" onClick={use}>
          <span>{t.pressToUsePreview}</span>
        </button>
      )}
      {question !== undefined && (
        <QuestionDialog server={app.server} question={question} onAnswer={answer} />
      )}
    </>
  );
}

interface QuestionDialogProps {
  readonly server: string;
  readonly question: AppQuestion;
  readonly onAnswer: (isAllowed: boolean) => void;
}

/**
 * Shows the whole address or message of an app, and asks whether to use it. The message field could not show it
 * completely: a text can be longer than the field, and can contain invisible characters.
 */
function QuestionDialog({ server, question, onAnswer }: QuestionDialogProps) {
  const t = useLabels();
  const { kind, text } = question;
  const answers = useRef<HTMLParagraphElement>(null);
  const gate = useAnswerGate(answers, text);
  const [readText, setReadText] = useState<string>();
  const isLink = kind === 'link';
  const title = isLink ? t.appOpensLink(server) : t.appAddsMessage(server);
  return (
    <Dialog title={title} onClose={() => onAnswer(false)}>
      <div className="app-question" data-kind={kind}>
        <ReadArea label={title} contentKey={text} onEnd={setReadText}>
          <p>
            <VisibleText text={text} />
          </p>
        </ReadArea>
      </div>
      <p className="app-answers" ref={answers}>
        <Button onClick={() => onAnswer(false)}>{t.cancel}</Button>
        <Button
          look="main"
          disabled={!gate.isOpen || readText !== text}
          onClick={() => gate.pass(() => onAnswer(true))}
        >
          {isLink ? t.open : t.addToMessage}
        </Button>
      </p>
    </Dialog>
  );
}

function themeName(): string {
  return isDark() ? 'dark' : 'light';
}

function hostContext(
  app: StoredApp,
  { toolCallId }: ToolCallPart,
  frame: HTMLElement | null,
  locale: string,
): JsonObject {
  const inputSchema = { type: 'object' };
  return {
    toolInfo: { id: toolCallId, tool: { name: app.tool, inputSchema } },
    ...{ theme: themeName(), locale, platform: 'web', userAgent: 'millrace' },
    timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
    ...{ displayMode: 'inline', availableDisplayModes: ['inline'] },
    containerDimensions: { width: frame?.clientWidth ?? 0, maxHeight: appHeights.most },
  };
}

/** Calls the listener after each change of the theme. */
function watchTheme(listener: () => void): () => void {
  const system = window.matchMedia('(prefers-color-scheme: dark)');
  system.addEventListener('change', listener);
  const observer = new MutationObserver(listener);
  observer.observe(document.documentElement, { attributeFilter: ['data-theme'] });
  return () => {
    system.removeEventListener('change', listener);
    observer.disconnect();
  };
}
