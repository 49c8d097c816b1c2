import type { JsonObject, ToolCallPart, ToolResultPart } from '@millrace/core';
import { safeLink } from '@millrace/markdown';
import { useCallback, useEffect, useLayoutEffect, useMemo, useRef, useState } from 'react';
import { useMillrace } from '../../context.ts';
import { Button } from '../../design/button.tsx';
import { Dialog } from '../../design/dialog.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { withoutToken } from '../../markdown/link-view.tsx';
import { useFrameSlot } from '../../markdown/rich/frame-slots.ts';
import { isDark } from '../../markdown/rich/frame-view.tsx';
import { useKeyboardGuard } from '../../markdown/rich/keyboard-guard.ts';
import { Approvals } from '../approval/approvals.tsx';
import { drafts } from '../composer/draft.ts';
import { VisibleText } from '../content/visible-text.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { AppHost } from './app-host.ts';
import { resultForApp, type StoredApp, storedApp } from './stored-app.ts';
import { useAppCalls } from './use-app-calls.ts';
import './app-view.css';

/** The properties of `AppView`. */
export interface AppViewProps {
  readonly source: ChatSource;
  readonly call: ToolCallPart;
  readonly result: ToolResultPart;
}

/** What the app shows: its document, and the result of its tool. */
interface Content {
  readonly html: string;
  readonly result: JsonObject;
}

/**
 * Shows the MCP app of a tool call. The log has everything that the app needs, so an old session shows it too.
 * The app has no network until the user agrees to the addresses that its server declares.
 */
export function AppView({ source, call, result }: AppViewProps) {
  const t = useLabels();
  const { framesUrl } = useMillrace();
  const app = useStoredApp(result);
  const content = useContent(source, app, result);
  const [isAgreed, setAgreed] = useState(false);
  const [isClosed, setClosed] = useState(false);
  const onClosed = useCallback(() => setClosed(true), []);
  const calls = useAppCalls(source, call.toolCallId);
  if (app === undefined || framesUrl === undefined) return null;
  const hosts = [...new Set([...app.connect, ...app.resource])];
  return (
    <section className="app" aria-label={t.appOf(app.server)}>
      {hosts.length > 0 && !isAgreed && !isClosed && (
        <p className="app-note">
          <span>
            {t.appWantsNetwork} <VisibleText text={hosts.join(', ')} />
          </span>
          <Button size="small" onClick={() => setAgreed(true)}>
            {t.allow}
          </Button>
        </p>
      )}
      {content === 'failed' && <p className="app-note">{t.appNotLoaded}</p>}
      {isClosed && (
        <p className="app-note" role="alert">
          {t.previewClosed}
        </p>
      )}
      {content !== undefined && content !== 'failed' && !isClosed && (
        <AppPlace
          // Another policy needs another document, so the app starts again.
          key={String(isAgreed)}
          {...{ source, call, app, content, onClosed, callTool: calls.callTool }}
          url={`${framesUrl}app.html${isAgreed ? queryOf(app) : ''}`}
        />
      )}
      {calls.session !== undefined && (
        <Approvals source={calls.session} handle={calls.session.handle} />
      )}
    </section>
  );
}

function queryOf({ connect, resource }: StoredApp): string {
  const query = new URLSearchParams();
  if (connect.length > 0) query.set('connect', connect.join(' '));
  if (resource.length > 0) query.set('resource', resource.join(' '));
  return `?${query}`;
}

/**
 * Returns the app of a result. It is the same object while the page shows other moments of the session, so that
 * the app does not start again.
 */
function useStoredApp(result: ToolResultPart): StoredApp | undefined {
  const key = JSON.stringify(result.metadata);
  // biome-ignore lint/correctness/useExhaustiveDependencies: the key contains everything that is read
  return useMemo(() => storedApp(result), [key]);
}

/** Loads the document and the result from the log. */
function useContent(source: ChatSource, app: StoredApp | undefined, result: ToolResultPart) {
  const [content, setContent] = useState<Content | 'failed'>();
  const stored = useRef({ source, result });
  stored.current = { source, result };
  useEffect(() => {
    if (app === undefined) return;
    let isOver = false;
    const load = async () => {
      const { source: from, result: part } = stored.current;
      const html = await (await from.blob(app.document)).text();
      return { html, result: await resultForApp(from, part) };
    };
    load().then(
      (loaded) => !isOver && setContent(loaded),
      () => !isOver && setContent('failed'),
    );
    return () => {
      isOver = true;
    };
  }, [app]);
  return content;
}

interface AppPlaceProps {
  readonly source: ChatSource;
  readonly call: ToolCallPart;
  readonly app: StoredApp;
  readonly content: Content;
  readonly url: string;
  readonly onClosed: () => void;
  /** Calls a tool of the server. Undefined if the user can only read. */
  readonly callTool: ((name: string, given: JsonObject) => Promise<JsonObject>) | undefined;
}

/** The heights of an app in pixels. */
const heights = { first: 240, least: 40, most: 800 };

function AppPlace(props: AppPlaceProps) {
  const place = useRef<HTMLDivElement>(null);
  // The user may have entered something into the app, so it stays until its row is removed.
  const isShown = useFrameSlot(place, false);
  const [height, setHeight] = useState(heights.first);
  const onHeight = useCallback(
    (wanted: number) =>
      setHeight(Math.round(Math.min(heights.most, Math.max(heights.least, wanted)))),
    [],
  );
  return (
    <div ref={place} className="preview-place" style={{ minHeight: height }}>
      {isShown && <AppFrame {...props} {...{ height, onHeight }} />}
    </div>
  );
}

interface AppFrameProps extends AppPlaceProps {
  readonly height: number;
  readonly onHeight: (height: number) => void;
}

/** The address that the app wants to open, and the function that receives the answer of the user. */
interface LinkQuestion {
  readonly url: string;
  readonly answer: (isOpened: boolean) => void;
}

/** After this many refused addresses, the page no longer asks. */
const maxRefusals = 3;

function AppFrame(props: AppFrameProps) {
  const { source, call, app, content, url, onClosed, callTool, height, onHeight } = props;
  const t = useLabels();
  const frame = useRef<HTMLIFrameElement>(null);
  const { isInUse, use } = useKeyboardGuard(frame, true, onClosed);
  const [question, setQuestion] = useState<LinkQuestion>();
  const refusals = useRef(0);
  // The host reads the newest values, but it exists as long as the document in the frame.
  const values = { source, call, isInUse, question, callTool, locale: t.locale };
  const now = useRef(values);
  now.current = values;
  // A layout effect runs before the frame can load. A later effect could miss its first message.
  useLayoutEffect(() => {
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
        const { isInUse: isActive, question: open } = now.current;
        if (!isWeb || !isActive || open !== undefined || refusals.current >= maxRefusals)
          return Promise.resolve(false);
        return new Promise((answer) => setQuestion({ url: safe, answer }));
      },
      compose: (text) => {
        // While the user works in the app, the message field has no focus. So no key press of the user can
        // send the text before the user has seen it.
        if (!now.current.isInUse || now.current.callTool === undefined) return false;
        const { id } = now.current.source;
        if (drafts.read(id).length > maxDraftLength) return false;
        drafts.add(id, text);
        return true;
      },
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
  const answer = (isOpened: boolean) => {
    if (question === undefined) return;
    if (isOpened) window.open(question.url, '_blank', 'noopener,noreferrer');
    else refusals.current += 1;
    question.answer(isOpened);
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
        <Dialog title={t.appOpensLink(app.server)} onClose={() => answer(false)}>
          <p className="app-link">
            <VisibleText text={question.url} />
          </p>
          <p className="app-answers">
            <Button onClick={() => answer(false)}>{t.cancel}</Button>
            <Button look="main" onClick={() => answer(true)}>
              {t.open}
            </Button>
          </p>
        </Dialog>
      )}
    </>
  );
}

/** Maximum length of a message to which an app can add text. */
const maxDraftLength = 20_000;

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
    containerDimensions: { width: frame?.clientWidth ?? 0, maxHeight: heights.most },
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
