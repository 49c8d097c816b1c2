import type { ToolCallPart, ToolResultPart } from '@millrace/core';
import { useCallback, useEffect, useMemo, useRef, useState } from 'react';
import { useMillrace } from '../../context.ts';
import { Button } from '../../design/button.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { useFrameSlot } from '../../markdown/rich/frame-slots.ts';
import { useAnswerGate } from '../approval/answer-gate.ts';
import { Approvals } from '../approval/approvals.tsx';
import { VisibleText } from '../content/visible-text.tsx';
import type { ChatSource } from '../state/chat-source.ts';
import { type AppContent, AppFrame, type AppFrameProps, appHeights } from './app-frame.tsx';
import { resultForApp, type StoredApp, storedApp } from './stored-app.ts';
import { useAppCalls } from './use-app-calls.ts';
import './app-view.css';

/** The properties of `AppView`. */
export interface AppViewProps {
  readonly source: ChatSource;
  readonly call: ToolCallPart;
  readonly result: ToolResultPart;
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
        <NetworkQuestion hosts={hosts} onAllow={() => setAgreed(true)} />
      )}
      {content === 'failed' && <p className="app-note">{t.appNotLoaded}</p>}
      {isClosed && (
        <p className="app-note" role="alert">
          {t.previewClosed}
        </p>
      )}
      {content !== undefined && content !== 'failed' && !isClosed && (
        <AppPlace
          // The content security policy changes when the user agrees. A document cannot change its policy, so
          // the app starts again in a new document.
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

interface NetworkQuestionProps {
  readonly hosts: readonly string[];
  readonly onAllow: () => void;
}

/** Asks whether an app may connect to the hosts that its server declares. */
function NetworkQuestion({ hosts, onAllow }: NetworkQuestionProps) {
  const t = useLabels();
  const button = useRef<HTMLButtonElement>(null);
  const names = hosts.join(', ');
  const gate = useAnswerGate(button, names);
  return (
    <p className="app-note">
      <span>
        {t.appWantsNetwork} <VisibleText text={names} />
      </span>
      <Button ref={button} size="small" disabled={!gate.isOpen} onClick={() => gate.pass(onAllow)}>
        {t.allow}
      </Button>
    </p>
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
  const [content, setContent] = useState<AppContent | 'failed'>();
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

function AppPlace(props: Omit<AppFrameProps, 'height' | 'onHeight'>) {
  const place = useRef<HTMLDivElement>(null);
  // The user may have entered something into the app, so it stays until its row is removed.
  const isShown = useFrameSlot(place, false);
  const [height, setHeight] = useState(appHeights.first);
  const onHeight = useCallback(
    (wanted: number) =>
      setHeight(Math.round(Math.min(appHeights.most, Math.max(appHeights.least, wanted)))),
    [],
  );
  return (
    <div ref={place} className="preview-place" style={{ minHeight: height }}>
      {isShown && <AppFrame {...props} {...{ height, onHeight }} />}
    </div>
  );
}
