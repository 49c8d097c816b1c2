import type { JsonObject } from '../json/json-value.ts';
import type { Usage } from './usage.ts';

/**
 * Data that a provider reported about a response, in addition to content, stop reason and usage. A
 * field is absent if the provider did not report it. No field contains content of parts.
 */
export interface ResponseDetails {
  /** The model that answered. It can be more exact than the requested name. */
  readonly model?: string;
  /** The provider's id of the response. Send it to the provider's support to identify the response. */
  readonly responseId?: string;
  /** The name of the provider that answered, if the request went to a router such as OpenRouter. */
  readonly upstream?: string;
  /** The tier that served the request, which can change its price: `default`, `flex`, `priority`. */
  readonly serviceTier?: string;
  /** The version of the server's configuration. */
  readonly fingerprint?: string;
  /** The stop sequence that ended the answer. It is one of the stop sequences of the request. */
  readonly stopSequence?: string;
  /** The stop reason of the model behind a router, as that model's provider sent it. */
  readonly nativeStop?: string;
  /** The container in which code of the model ran. */
  readonly container?: ContainerInfo;
  /** Moderation results, content filters and safety ratings. */
  readonly safety?: readonly SafetyRating[];
  /** The durations that the provider measured with its own clock. */
  readonly timings?: ResponseTimings;
  /** The provider and model that answered, if a wrapper did not use the requested provider or model. */
  readonly answeredBy?: ModelName;
  /** Other requests that were sent for this answer. They failed or were too slow. */
  readonly otherRequests?: readonly OtherRequest[];
  /** True if the answer came from a cache of whole answers. Its usage is 0. */
  readonly fromCache?: true;
  /** Data of the provider for which no field exists here, in the provider's own format. */
  readonly other?: JsonObject;
}

/** A model and its provider. */
export interface ModelName {
  readonly provider: string;
  readonly model: string;
}

/** A container of a provider. */
export interface ContainerInfo {
  readonly id: string;
  /** A time as the provider sent it, usually in ISO 8601. */
  readonly expiresAt?: string;
}

/** One result of a provider's filter for the request or the answer. */
export interface SafetyRating {
  readonly about: 'input' | 'output';
  /** The category, as the provider names it. */
  readonly category: string;
  /** The severity or the probability, as the provider names it: `safe`, `LOW`. */
  readonly level?: string;
  /** The probability from 0 to 1. */
  readonly score?: number;
  /** True if the filter found this category. */
  readonly flagged?: boolean;
  /** True if the filter removed content because it found this category. */
  readonly blocked?: boolean;
}

/** The durations of the steps of a response, in milliseconds, by the provider's clock. */
export interface ResponseTimings {
  /** The time that the request waited before the work began. */
  readonly queueMs?: number;
  /** The time for reading the input. */
  readonly inputMs?: number;
  /** The time for writing the output. */
  readonly outputMs?: number;
  /** The time from the request to the end of the answer. */
  readonly totalMs?: number;
}

/** A request whose answer was not used. Its usage is part of the usage of the response. */
export interface OtherRequest extends ModelName {
  /**
   * The kind of the error, if the request failed. `slow`: a later request replaced it. `lost`: a different
   * request was faster.
   */
  readonly outcome: string;
  readonly usage: Usage;
}
