import type { PastRequest } from '@millrace/client';
import {
  type Attempt,
  cachedPercent,
  encodeRecord,
  type Fact,
  type LogRecord,
  parseJson,
  type Usage,
} from '@millrace/core';
import { type ReactNode, useMemo, useRef, useState } from 'react';
import { Button } from '../../design/button.tsx';
import { duration } from '../../design/time.tsx';
import type { Labels } from '../../labels/labels.ts';
import { numberText, useLabels } from '../../labels/use-labels.ts';
import { CodeView } from '../../markdown/code-view.tsx';
import { typeOf } from './search.ts';

interface RecordDetailProps {
  readonly records: readonly LogRecord[];
  readonly index: number;
  readonly start: number;
  readonly readRequest: ReadRequest;
}

/** Shows one record: its main fields and its JSON. */
export function RecordDetail({ records, index, start, readRequest }: RecordDetailProps) {
  const t = useLabels();
  const record = records[index];
  const text = useMemo(() => (record === undefined ? '' : pretty(encodeRecord(record))), [record]);
  if (record === undefined) return <p className="inspector-empty">{t.noRecordIsSelected}</p>;
  const { offset, turn, attempt, producer, time, fact } = record;
  return (
    <article className="record-detail" aria-label={t.recordNumber(`${offset}`)}>
      <h3>
        <span className="record-offset">{offset}</span> {typeOf(record)}
      </h3>
      <dl>
        <Field name={t.at}>
          {duration(time - start)} <small>{new Date(time).toLocaleString(t.locale)}</small>
        </Field>
        {turn > 0 && (
          <Field name={t.turn}>{attempt > 0 ? t.turnAttempt(turn, attempt) : turn}</Field>
        )}
        <Field name={t.producer}>{producer}</Field>
        {fact !== undefined && <FactFields fact={fact} />}
      </dl>
      {turn > 0 && attempt > 0 && (
        <RequestView key={`${turn}.${attempt}`} {...{ turn, attempt, readRequest }} />
      )}
      <CodeView text={text} lang="json" isDone />
    </article>
  );
}

function Field({ name, children }: { readonly name: string; readonly children: ReactNode }) {
  return (
    <div>
      <dt>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}

/** Shows the most important fields of a fact. */
function FactFields({ fact }: { readonly fact: Fact }) {
  const t = useLabels();
  return (
    <>
      {'stop' in fact && fact.stop !== undefined && (
        <Field name={t.stop}>
          {fact.stop.reason}
          <small>
            {fact.stop.raw === undefined ? t.stopNotReported : ` ${t.providerSays(fact.stop.raw)}`}
            {fact.stop.cause !== undefined && `, ${t.causeOf(fact.stop.cause)}`}
          </small>
        </Field>
      )}
      {'usage' in fact && <Field name={t.usage}>{usageText(fact.usage, t)}</Field>}
      {'error' in fact && (
        <Field name={t.error}>
          {fact.error.code}: {fact.error.message}
        </Field>
      )}
      {fact.type === 'tool_execution_started' && fact.child !== undefined && (
        <Field name={t.subAgent}>
          session <code>{fact.child}</code>
        </Field>
      )}
    </>
  );
}

function usageText(usage: Usage, t: Labels): string {
  const { input, output, cacheRead, cacheWrite, reasoning, costs, estimated } = usage;
  const texts = [t.tokensIn(numberText(t, input), 0), t.tokensOut(numberText(t, output))];
  if (cacheRead > 0)
    texts.push(t.tokensFromCache(numberText(t, cacheRead), cachedPercent(usage) ?? 0));
  if (cacheWrite > 0) texts.push(t.tokensToCache(numberText(t, cacheWrite)));
  if (reasoning > 0) texts.push(t.reasoningTokens(numberText(t, reasoning)));
  for (const { amount, currency } of costs) texts.push(`${amount} ${currency}`);
  const text = texts.join(', ');
  return estimated ? t.estimated(text) : text;
}

function pretty(text: string): string {
  const parsed = parseJson(text);
  return parsed.ok ? JSON.stringify(parsed.value, null, 2) : text;
}

export type ReadRequest = (at: Attempt) => Promise<PastRequest>;

interface RequestViewProps extends Attempt {
  readonly readRequest: ReadRequest;
}

type RequestState =
  | { readonly state: 'unread' | 'reading' }
  | { readonly state: 'ready'; readonly request: PastRequest }
  | { readonly state: 'failed'; readonly message: string };

/**
 * Shows the model request of an attempt. The server rebuilds the request when the user unfolds this
 * element.
 */
export function RequestView({ turn, attempt, readRequest }: RequestViewProps) {
  const t = useLabels();
  const [request, setRequest] = useState<RequestState>({ state: 'unread' });
  const isRequested = useRef(false);
  const unfold = async () => {
    if (isRequested.current) return;
    isRequested.current = true;
    setRequest({ state: 'reading' });
    try {
      setRequest({ state: 'ready', request: await readRequest({ turn, attempt }) });
    } catch (error) {
      isRequested.current = false;
      setRequest({
        state: 'failed',
        message: error instanceof Error ? error.message : t.unknownError,
      });
    }
  };
  return (
    <details
      className="record-request"
      onToggle={({ currentTarget }) => void (currentTarget.open && unfold())}
    >
      <summary>{t.requestOf(t.turnAttempt(turn, attempt))}</summary>
      {request.state === 'reading' && <p className="record-note">{t.rebuildingTheRequest}</p>}
      {request.state === 'failed' && (
        <p className="record-note" role="alert">
          {request.message}{' '}
          <Button size="small" onClick={() => void unfold()}>
            {t.tryAgain}
          </Button>
        </p>
      )}
      {request.state === 'ready' && <Request {...request.request} />}
    </details>
  );
}

function Request({ provider, model, url, body, notes }: PastRequest) {
  const t = useLabels();
  return (
    <>
      <dl>
        <div>
          <dt>{t.asked}</dt>
          <dd>
            {model} <small>{provider}</small>
          </dd>
        </div>
        {url !== null && (
          <div>
            <dt>POST</dt>
            <dd>
              <code>{url}</code>
            </dd>
          </div>
        )}
      </dl>
      {notes.map((note) => (
        <p key={note} className="record-note">
          {note}
        </p>
      ))}
      {body !== null && <CodeView text={JSON.stringify(body, null, 2)} lang="json" isDone />}
    </>
  );
}
