import { isJsonObject, type JsonArray, type JsonObject, type SafetyRating } from '@millrace/core';
import { arrayIn, countIn, objectIn, objectsIn, textIn } from '../json/fields.ts';
import { type Citation, Citations } from '../wire/citations.ts';
import { ratingOf } from './reported-details.ts';

/** Maximum number of passages with sources. No answer has this many. */
const maxSupports = 1024;

/**
 * The sources of an answer. They are citations, the searches that found them, the passages that they support,
 * and the web pages that were read. Later events of a response repeat and extend the sources.
 */
export class Sources {
  readonly #citations = new Citations();
  #grounding: JsonObject = {};

  /** Reads the sources of a candidate, which is one answer of Gemini. Returns whether any of them are new. */
  read(candidate: JsonObject): boolean {
    const chunks = objectsIn(objectIn(candidate, 'groundingMetadata'), 'groundingChunks');
    const cited = chunks.map(chunkCitation);
    const added = [...cited, ...quotedIn(candidate)].filter((one) => this.#citations.add(one));
    const positions = cited.map(({ raw }) => this.#citations.positionOf(raw));
    const fields = groundingFields(candidate, positions);
    // Only the fields of this event are compared, because an event can be much smaller than all sources.
    const isMore = Object.entries(fields).some(
      ([name, value]) => JSON.stringify(value) !== JSON.stringify(this.#grounding[name]),
    );
    this.#grounding = { ...this.#grounding, ...fields };
    return added.length > 0 || isMore;
  }

  /** Returns the sources as metadata of the text. */
  get metadata(): JsonObject {
    const hasGrounding = Object.keys(this.#grounding).length > 0;
    return {
      ...(this.#citations.isEmpty ? {} : this.#citations.metadata),
      ...(hasGrounding ? { grounding: this.#grounding } : {}),
    };
  }
}

/**
 * Returns whether a candidate has a field with sources. Most events have no sources and need no further
 * check.
 */
export function hasSources(candidate: JsonObject): boolean {
  return (
    candidate['groundingMetadata'] !== undefined ||
    candidate['citationMetadata'] !== undefined ||
    candidate['urlContextMetadata'] !== undefined
  );
}

function groundingFields(candidate: JsonObject, positions: readonly number[]): JsonObject {
  const grounding = objectIn(candidate, 'groundingMetadata');
  const queries = ['webSearchQueries', 'imageSearchQueries', 'retrievalQueries'].flatMap((name) =>
    textsIn(grounding, name),
  );
  const supports = objectsIn(grounding, 'groundingSupports').slice(0, maxSupports);
  const entry = textIn(objectIn(grounding, 'searchEntryPoint'), 'renderedContent');
  const widget = textIn(grounding, 'googleMapsWidgetContextToken');
  const urls = objectsIn(objectIn(candidate, 'urlContextMetadata'), 'urlMetadata');
  return {
    ...(queries.length === 0 ? {} : { queries }),
    ...(supports.length === 0
      ? {}
      : { supports: supports.map((one) => toSupport(one, positions)) }),
    ...(entry === undefined ? {} : { searchEntryPoint: entry }),
    ...(widget === undefined ? {} : { mapsWidgetToken: widget }),
    ...(urls.length === 0 ? {} : { urls: urls.slice(0, maxSupports).flatMap(readUrl) }),
  };
}

function toSupport(support: JsonObject, positions: readonly number[]): JsonObject {
  const segment = objectIn(support, 'segment');
  const [text, end] = [textIn(segment, 'text'), countIn(segment, 'endIndex')];
  const part = countIn(segment, 'partIndex');
  const scores = arrayIn(support, 'confidenceScores').filter((one) => typeof one === 'number');
  const sources = arrayIn(support, 'groundingChunkIndices').flatMap((index) =>
    typeof index === 'number' ? (positions[index] ?? []) : [],
  );
  return {
    ...(text === undefined ? {} : { text }),
    start: countIn(segment, 'startIndex') ?? 0,
    ...(end === undefined ? {} : { end }),
    ...(part === undefined ? {} : { part }),
    sources,
    ...(scores.length === 0 ? {} : { scores }),
  };
}

function readUrl(metadata: JsonObject): JsonArray {
  const url = textIn(metadata, 'retrievedUrl');
  if (url === undefined) return [];
  return [{ url, status: textIn(metadata, 'urlRetrievalStatus') ?? '' }];
}

function textsIn(object: JsonObject | undefined, key: string): readonly string[] {
  return arrayIn(object, key)
    .filter((one) => typeof one === 'string')
    .slice(0, maxSupports);
}

function chunkCitation(chunk: JsonObject): Citation {
  const source =
    objectIn(chunk, 'web') ?? objectIn(chunk, 'retrievedContext') ?? objectIn(chunk, 'maps');
  return { url: textIn(source, 'uri'), title: textIn(source, 'title'), raw: chunk };
}

/** Returns citations of the works that the answer quotes. */
function quotedIn(candidate: JsonObject): readonly Citation[] {
  const quoted = objectIn(candidate, 'citationMetadata');
  return ['citationSources', 'citations']
    .flatMap((key) => objectsIn(quoted, key))
    .map((source) => ({
      url: textIn(source, 'uri'),
      title: textIn(source, 'title'),
      raw: source,
    }));
}

/** Returns the safety ratings of an answer, or of the prompt. */
export function ratingsIn(
  rated: JsonObject | undefined,
  about: SafetyRating['about'],
): readonly SafetyRating[] {
  return arrayIn(rated, 'safetyRatings').flatMap((rating) => {
    const category = isJsonObject(rating) ? textIn(rating, 'category') : undefined;
    if (category === undefined || !isJsonObject(rating)) return [];
    return ratingOf(about, category, {
      level: rating['probability'],
      score: rating['probabilityScore'],
      blocked: rating['blocked'],
    });
  });
}
