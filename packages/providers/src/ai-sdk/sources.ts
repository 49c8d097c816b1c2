import type { DeltaWriter } from '@millrace/core';
import { type Citation, Citations } from '../wire/citations.ts';
import { asJson } from './as-json.ts';
import type { PartOf } from './model.ts';
import type { SpokenText } from './spoken-text.ts';

type Source = PartOf<'source'>;
type CitationOfText = NonNullable<
  Extract<PartOf<'text-end'>, { citations?: unknown }>['citations']
>[number];

/** Sources go to the text that is spoken, or to the next one. */
export class Sources {
  /** Those that no text has yet. */
  #waiting = new Citations();

  add(source: Source, text: SpokenText | undefined): void {
    const citation = citationOf(source, source);
    if (text === undefined) this.#waiting.add(citation);
    else text.cite(citation);
  }

  /** Those that came before the text that begins now. */
  take(): Citations {
    const taken = this.#waiting;
    this.#waiting = new Citations();
    return taken;
  }

  /** The response is complete. What came after the last text is a part of its own. */
  end(writer: DeltaWriter): void {
    if (this.#waiting.isEmpty) return;
    writer.whole({ kind: 'custom', name: 'citations', value: this.#waiting.metadata });
  }
}

/** A text's own, at its end. */
export function citationOfText(citation: CitationOfText): Citation {
  return citationOf(citation.source, citation);
}

function citationOf(source: Source, raw: object): Citation {
  const url = source.sourceType === 'url' ? source.url : undefined;
  return { url, title: source.title, raw: asJson(raw) ?? null };
}
