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
  const record = records[index];
  const text = useMemo(() => (record === undefined ? '' : pretty(encodeRecord(record))), [record]);
  if (record === undefined) return <p className="inspector-empty">No record is selected.</p>;
  const { offset, turn, attempt, producer, time, fact } = record;
  return (
    <article className="record-detail" aria-label={`Record ${offset}`}>
      <h3>
        <span className="record-offset">{offset}</span> {typeOf(record)}
      </h3>
      <dl>
        <Field name="At">
          {duration(time - start)} <small>{new Date(time).toLocaleString()}</small>
        </Field>
        {turn > 0 && (
          <Field name="Turn">{attempt > 0 ? `${turn}, attempt ${attempt}` : turn}</Field>
        )}
        <Field name="Producer">{producer}</Field>
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
  return (
    <>
      {'stop' in fact && fact.stop !== undefined && (
        <Field name="Stop">
          {fact.stop.reason}
          <small>
            {fact.stop.raw === undefined
              ? ' not reported by the provider'
              : ` provider: ${fact.stop.raw}`}
            {fact.stop.cause !== undefined && `, cause: ${fact.stop.cause}`}
          </small>
        </Field>
      )}
      {'usage' in fact && <Field name="Usage">{usageText(fact.usage)}</Field>}
      {'error' in fact && (
        <Field name="Error">
          {fact.error.code}: {fact.error.message}
        </Field>
      )}
      {fact.type === 'tool_execution_started' && fact.child !== undefined && (
        <Field name="Sub-agent">
          session <code>{fact.child}</code>
        </Field>
      )}
    </>
  );
}

function usageText(usage: Usage): string {
  const { input, output, cacheRead, cacheWrite, reasoning, costs, estimated } = usage;
  const texts = [`${input.toLocaleString('en')} in`, `${output.toLocaleString('en')} out`];
  if (cacheRead > 0)
    texts.push(`${cacheRead.toLocaleString('en')} from cache (${cachedPercent(usage)} %)`);
  if (cacheWrite > 0) texts.push(`${cacheWrite.toLocaleString('en')} to cache`);
  if (reasoning > 0) texts.push(`${reasoning.toLocaleString('en')} reasoning`);
  for (const { amount, currency } of costs) texts.push(`${amount} ${currency}`);
  return `${texts.join(', ')}${estimated ? ' (estimated)' : ''}`;
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
        message: error instanceof Error ? error.message : 'Unknown error',
      });
    }
  };
  return (
    <details
      className="record-request"
      onToggle={({ currentTarget }) => void (currentTarget.open && unfold())}
    >
      <summary>
        Request of turn {turn}, attempt {attempt}
      </summary>
      {request.state === 'reading' && <p className="record-note">Rebuilding the request …</p>}
      {request.state === 'failed' && (
        <p className="record-note" role="alert">
          {request.message}{' '}
          <Button size="small" onClick={() => void unfold()}>
            Try again
          </Button>
        </p>
      )}
      {request.state === 'ready' && <Request {...request.request} />}
    </details>
  );
}

function Request({ provider, model, url, body, notes }: PastRequest) {
  return (
    <>
      <dl>
        <div>
          <dt>Asked</dt>
          <dd>
            {model} <small>of {provider}</small>
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
