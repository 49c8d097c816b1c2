import type { JsonObject } from '@millrace/core';
import { objectIn, objectsIn, textIn } from '../json/fields.ts';
import type { Citation } from '../wire/citations.ts';

/** Where a candidate's text is from: web pages, documents, places, and what it quotes. */
export function citationsIn(candidate: JsonObject): readonly Citation[] {
  const grounding = objectIn(candidate, 'groundingMetadata');
  const quoted = objectIn(candidate, 'citationMetadata');
  return [
    ...objectsIn(grounding, 'groundingChunks').map(chunkCitation),
    ...['citationSources', 'citations']
      .flatMap((key) => objectsIn(quoted, key))
      .map(sourceCitation),
  ];
}

function chunkCitation(chunk: JsonObject): Citation {
  const source =
    objectIn(chunk, 'web') ?? objectIn(chunk, 'retrievedContext') ?? objectIn(chunk, 'maps');
  return { url: textIn(source, 'uri'), title: textIn(source, 'title'), raw: chunk };
}

function sourceCitation(source: JsonObject): Citation {
  return { url: textIn(source, 'uri'), title: textIn(source, 'title'), raw: source };
}
