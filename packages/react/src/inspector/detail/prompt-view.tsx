import type { PastRequest } from '@millrace/client';
import { type Attempt, cachedPercent, type JsonObject, type Usage } from '@millrace/core';
import { useEffect, useMemo, useState } from 'react';
import { LongText } from '../../chat/content/long-text.tsx';
import { Button } from '../../design/button.tsx';
import type { Labels } from '../../labels/labels.ts';
import { numberText, useLabels } from '../../labels/use-labels.ts';
import { CodeView } from '../../markdown/code-view.tsx';
import type { ReadRequest } from '../records/record-detail.tsx';
import {
  cachedMessages,
  type Prompt,
  type PromptChange,
  type PromptMessage,
  promptChange,
  promptOf,
} from './prompt-messages.ts';

interface PromptViewProps extends Attempt {
  /** The previous attempt. Undefined for the first attempt. */
  readonly before: Attempt | undefined;
  readonly usage: Usage | undefined;
  readonly readRequest: ReadRequest;
}

type Loaded =
  | { readonly state: 'reading' }
  | { readonly state: 'failed'; readonly message: string }
  | {
      readonly state: 'ready';
      readonly request: PastRequest;
      /** The previous request. Undefined if there is none, or if the server cannot rebuild it. */
      readonly before: PastRequest | undefined;
    };

/**
 * Shows the request of an attempt as messages. It marks the changes since the previous request and
 * the messages that probably came from the cache. All other messages are folded.
 */
export function PromptView({ turn, attempt, before, usage, readRequest }: PromptViewProps) {
  const t = useLabels();
  const [loaded, setLoaded] = useState<Loaded>({ state: 'reading' });
  const [tries, setTries] = useState(0);
  const [beforeTurn, beforeAttempt] = [before?.turn, before?.attempt];
  // biome-ignore lint/correctness/useExhaustiveDependencies: another try reads again
  useEffect(() => {
    let isGone = false;
    setLoaded({ state: 'reading' });
    const read = async () => {
      const request = await readRequest({ turn, attempt });
      const earlier =
        beforeTurn === undefined || beforeAttempt === undefined
          ? undefined
          : await readRequest({ turn: beforeTurn, attempt: beforeAttempt }).catch(() => undefined);
      if (!isGone) setLoaded({ state: 'ready', request, before: earlier });
    };
    read().catch((error: unknown) => {
      const message = error instanceof Error ? error.message : t.unknownError;
      if (!isGone) setLoaded({ state: 'failed', message });
    });
    return () => {
      isGone = true;
    };
  }, [turn, attempt, beforeTurn, beforeAttempt, tries]);
  if (loaded.state === 'reading') return <p className="record-note">{t.rebuildingThePrompt}</p>;
  if (loaded.state === 'failed')
    return (
      <p className="record-note" role="alert">
        {loaded.message}{' '}
        <Button size="small" onClick={() => setTries(tries + 1)}>
          {t.tryAgain}
        </Button>
      </p>
    );
  return <LoadedPrompt {...loaded} usage={usage} />;
}

function LoadedPrompt({
  request,
  before,
  usage,
}: Extract<Loaded, { state: 'ready' }> & Pick<PromptViewProps, 'usage'>) {
  const { body, notes, url } = request;
  const prompt = useMemo(() => (body === null ? undefined : promptOf(body)), [body]);
  const change = useMemo(
    () =>
      prompt === undefined || before == null || before.body === null
        ? undefined
        : promptChange(promptOf(before.body), prompt),
    [prompt, before],
  );
  return (
    <>
      {prompt !== undefined && <Messages {...{ prompt, change, usage }} />}
      {url !== null && (
        <p className="record-note">
          POST <code>{url}</code>
        </p>
      )}
      {notes.map((note) => (
        <p key={note} className="record-note">
          {note}
        </p>
      ))}
      {body !== null && <RawRequest body={body} />}
    </>
  );
}

/** The JSON of a request. It is rendered only when the user unfolds it, because it can be long. */
function RawRequest({ body }: { readonly body: JsonObject }) {
  const t = useLabels();
  const [isOpen, setOpen] = useState(false);
  return (
    <details className="prompt-raw" onToggle={({ currentTarget }) => setOpen(currentTarget.open)}>
      <summary>{t.rawRequest}</summary>
      {isOpen && <CodeView text={JSON.stringify(body, null, 2)} lang="json" isDone />}
    </details>
  );
}

interface MessagesProps {
  readonly prompt: Prompt;
  readonly change: PromptChange | undefined;
  readonly usage: Usage | undefined;
}

function Messages({ prompt, change, usage }: MessagesProps) {
  const t = useLabels();
  const [isAll, setAll] = useState(false);
  const { messages, tools, settings } = prompt;
  const same = change?.same ?? 0;
  const cached =
    usage === undefined ? 0 : cachedMessages(prompt, usage.cacheRead / (usage.input || 1));
  const first = isAll ? 0 : same;
  return (
    <>
      <p className="prompt-change">{changeText(change, messages.length, t)}</p>
      {usage !== undefined && usage.cacheRead > 0 && (
        <p className="prompt-cache">
          {t.cachedTokens(
            numberText(t, usage.cacheRead),
            numberText(t, usage.input),
            cachedPercent(usage) ?? 0,
            cached,
          )}
        </p>
      )}
      {same > 0 && (
        <Button size="small" look="quiet" aria-expanded={isAll} onClick={() => setAll(!isAll)}>
          {isAll ? t.hideUnchanged(same) : t.showUnchanged(same)}
        </Button>
      )}
      <ol className="prompt-messages" start={first + 1}>
        {messages.slice(first).map((message, at) => (
          <Message
            // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
            key={first + at}
            message={message}
            mark={change !== undefined && first + at >= same ? 'new' : undefined}
            isCached={first + at < cached}
          />
        ))}
        {change?.removed.map((message, at) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: messages have no other identity
          <Message key={`removed ${at}`} message={message} mark="removed" isCached={false} />
        ))}
      </ol>
      <p className="record-note">
        {tools.length === 0 ? t.noTools : t.toolList(tools.join(', '))}
        {Object.entries(settings).map(([name, value]) => ` · ${name} ${value.slice(0, 60)}`)}
      </p>
    </>
  );
}

function changeText(change: PromptChange | undefined, count: number, t: Labels): string {
  if (change === undefined) return t.firstRequest(count);
  const { same, added, removed, settings } = change;
  const texts = [t.sameMessages(same), t.newMessages(added.length)];
  if (removed.length > 0) texts.push(t.removedMessages(removed.length));
  if (settings.length > 0) texts.push(t.changedSettings(settings.join(', ')));
  return `${texts.join(', ')}.`;
}

interface MessageProps {
  readonly message: PromptMessage;
  readonly mark: 'new' | 'removed' | undefined;
  readonly isCached: boolean;
}

function Message({ message: { role, blocks }, mark, isCached }: MessageProps) {
  const t = useLabels();
  return (
    <li className="prompt-message" data-role={role} data-mark={mark}>
      <p>
        <b>{role}</b>
        {mark !== undefined && (
          <span className="tag" data-mark={mark}>
            {mark}
          </span>
        )}
        {isCached && <span className="tag">{t.cached}</span>}
      </p>
      {blocks.map(({ kind, title, text }, at) => (
        // biome-ignore lint/suspicious/noArrayIndexKey: blocks have no other identity
        <div key={at} className="prompt-block" data-kind={kind}>
          {kind !== 'text' && (
            <small>
              {kind} {title}
            </small>
          )}
          <LongText text={text} />
        </div>
      ))}
    </li>
  );
}
