import type { JsonObject, JsonValue } from '@millrace/core';
import { safeLink } from '@millrace/markdown';
import { useId, useState } from 'react';
import { useShownRows } from '../../design/shown-rows.tsx';
import { useLabels } from '../../labels/use-labels.ts';
import { withoutToken } from '../../markdown/link-view.tsx';
import { VisibleText } from './visible-text.tsx';
import './citations-view.css';

/** A source of an answer, with the passages that the provider quoted. */
export interface CitedSource {
  readonly title: string;
  readonly address?: string | undefined;
  readonly host?: string | undefined;
  readonly quotes: readonly string[];
}

/** The number of sources that are shown before a button shows more. */
const pageSize = 12;

/** Shows the sources below an answer, with previews of the quoted passages. */
export function CitationsView({ metadata }: { readonly metadata: JsonObject }) {
  const t = useLabels();
  const sources = citedSources(metadata);
  const { count, more } = useShownRows(sources.length, pageSize);
  if (sources.length === 0) return null;
  return (
    <section className="citations" aria-label={t.sources}>
      <ol>
        {sources.slice(0, count).map((source, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: a source never changes its position
          <SourceView key={index} source={source} />
        ))}
      </ol>
      {more}
    </section>
  );
}

function SourceView({
  source: { title, address, host, quotes },
}: {
  readonly source: CitedSource;
}) {
  const [isShown, setShown] = useState(false);
  const previewId = useId();
  const show = () => setShown(quotes.length > 0);
  const hide = () => setShown(false);
  const events = {
    ...{ onFocus: show, onBlur: hide },
    onKeyDown: ({ key }: { readonly key: string }) => key === 'Escape' && hide(),
    'aria-describedby': isShown ? previewId : undefined,
  };
  return (
    <li onMouseEnter={show} onMouseLeave={hide}>
      {address === undefined ? (
        <button type="button" className="citation-title" {...events}>
          <VisibleText text={title} />
        </button>
      ) : (
        <a
          className="citation-title"
          href={address}
          target="_blank"
          rel="noopener noreferrer nofollow"
          title={address}
          {...events}
        >
          <VisibleText text={title} />
        </a>
      )}
      {host !== undefined && host !== title && <span className="citation-host"> {host}</span>}
      {isShown && (
        <span role="tooltip" id={previewId} className="citation-preview">
          {quotes.map((quote) => (
            <q key={quote}>
              <VisibleText text={quote} />
            </q>
          ))}
        </span>
      )}
    </li>
  );
}

const maxSources = 200;
const maxQuotes = 3;
const maxText = 400;

/**
 * Reads the sources from the metadata of a text. The metadata comes from a provider, so this
 * function checks each field. Several citations of the same page become one source.
 */
export function citedSources({ citations }: JsonObject): readonly CitedSource[] {
  if (!Array.isArray(citations)) return [];
  const byKey = new Map<string, CitedSource>();
  for (const citation of citations) {
    const source = sourceOf(citation);
    const key = `${source.address} ${source.title}`;
    const known = byKey.get(key);
    if (known === undefined && byKey.size >= maxSources) continue;
    const quotes = [...new Set([...(known?.quotes ?? []), ...source.quotes])].slice(0, maxQuotes);
    byKey.set(key, { ...source, quotes });
  }
  return [...byKey.values()];
}

function sourceOf(citation: JsonValue): CitedSource {
  const fields = fieldsOf(citation);
  const raw = fieldsOf(fields['raw']);
  const address = withoutToken(safeLink(textField(fields, 'url') ?? textField(raw, 'url') ?? ''));
  const host = address?.startsWith('http') ? new URL(address).host : undefined;
  const title =
    textField(fields, 'title') ?? textField(raw, 'document_title') ?? textField(raw, 'filename');
  const quote =
    textField(raw, 'cited_text') ?? textField(raw, 'quote') ?? textField(raw, 'snippet');
  const quotes = quote === undefined ? [] : [shortened(quote)];
  return { title: shortened(title ?? host ?? ''), address, host, quotes };
}

function fieldsOf(value: JsonValue | undefined): JsonObject {
  return typeof value === 'object' && value !== null && !Array.isArray(value)
    ? (value as JsonObject)
    : {};
}

function textField(fields: JsonObject, name: string): string | undefined {
  const value = Object.hasOwn(fields, name) ? fields[name] : undefined;
  return typeof value === 'string' && value.trim() !== '' ? value : undefined;
}

function shortened(text: string): string {
  const trimmed = text.trim();
  return trimmed.length > maxText ? `${trimmed.slice(0, maxText).toWellFormed()} …` : trimmed;
}
