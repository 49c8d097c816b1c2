import { addUsage, fromBase64, type JsonObject, noUsage } from '@millrace/core';
import type {
  GeneratedImages,
  ImageModel,
  ImageOptions,
  ImageRequest,
  MediaContent,
} from '../contract/media.ts';
import { ProviderError } from '../contract/provider-error.ts';
import { fault } from '../errors/wire-fault.ts';
import { countIn, objectIn, objectsIn, textIn } from '../json/fields.ts';
import type { ChatPreset } from '../openai-chat/options.ts';
import { assertProviderOptions } from '../wire/api-options.ts';
import {
  checkTextInput,
  type MediaApiOptions,
  mediaUsage,
  readJsonAnswer,
  withCallOptions,
} from './media-client.ts';
import { openMediaModel } from './openai-endpoint.ts';

/**
 * Creates images from a description. If one request cannot create all images, it sends several requests, one
 * after the other. Throws a `ProviderError`. Its kind is `filtered` if the provider rejects the description.
 *
 * @example
 * const { images } = await generateImage(openaiImage({ model: 'gpt-image-1' }), 'A lighthouse');
 * await writeFile('lighthouse.png', images[0].bytes);
 */
export async function generateImage(
  model: ImageModel,
  prompt: string,
  options: ImageOptions = {},
): Promise<GeneratedImages> {
  const { provider } = model;
  assertProviderOptions('generateImage', options, {
    ...{ signal: true, providerOptions: true, count: true, size: true },
    ...{ aspectRatio: true, seed: true },
  });
  checkTextInput(provider, 'prompt', prompt);
  const { count = 1 } = options;
  if (!Number.isSafeInteger(count) || count < 1 || count > 100) {
    const message = `Cannot use ${String(count)} as count: use a whole number from 1 to 100`;
    throw new ProviderError('invalid_request', message, { provider });
  }
  const images: MediaContent[] = [];
  let usage = noUsage;
  // Each answer contains at least one image, so the loop ends.
  while (images.length < count) {
    const wanted = Math.min(count - images.length, model.maxImages);
    const answer = await model.generate({ ...options, prompt, count: wanted });
    images.push(...answer.images);
    usage = addUsage(usage, answer.usage);
    if (answer.images.length === 0) {
      const message = `Cannot use the answer of ${provider}: it has no picture`;
      throw new ProviderError('protocol_error', message, { provider });
    }
  }
  return { images: images.slice(0, count), usage };
}

/** Options of `openaiImage`. */
export interface OpenaiImageOptions extends MediaApiOptions {
  /** The server. Default: `openai`. If the options contain a base URL but no preset: `compatible`. */
  readonly preset?: ImagePreset | undefined;
}

/** The servers that have OpenAI's endpoint `/images/generations`. */
export type ImagePreset = Extract<
  ChatPreset,
  'compatible' | 'openai' | 'azure' | 'xai' | 'together' | 'litellm'
>;

const imagePresets: readonly ImagePreset[] = [
  ...(['compatible', 'openai', 'azure', 'xai', 'together', 'litellm'] as const),
];

/**
 * Creates an image model of OpenAI or of a compatible server. Set quality, background and format
 * with `providerOptions: { openai: { quality: 'high' } }`.
 *
 * @example
 * const model = openaiImage({ model: 'gpt-image-1' });
 */
export function openaiImage(options: OpenaiImageOptions): ImageModel {
  const { provider, model, info, client, http } = openMediaModel(
    { of: 'openaiImage', path: 'images/generations', presets: imagePresets },
    options,
  );
  // Some models answer with a URL by default. The field `response_format` asks these models for the bytes.
  // All other models reject this field.
  const asksForBytes = !/^(?:chat)?gpt-/.test(model) && options.preset !== 'azure';
  return {
    provider,
    model,
    maxImages: model === 'dall-e-3' ? 1 : 10,
    generate: (request) =>
      client.call({
        signal: request.signal,
        http: () => http(bodyOf(provider, model, request, asksForBytes)),
        read: (bytes) => {
          const body = readJsonAnswer(bytes);
          const usage = objectIn(body, 'usage');
          const [input, output] = [countIn(usage, 'input_tokens'), countIn(usage, 'output_tokens')];
          const isKnown = input !== undefined && output !== undefined;
          return {
            images: objectsIn(body, 'data').map(imageIn),
            usage: mediaUsage(isKnown ? { input, output } : undefined, info),
          };
        },
      }),
  };
}

function bodyOf(
  provider: string,
  model: string,
  request: ImageRequest,
  asksForBytes: boolean,
): JsonObject {
  const { prompt, count, size, aspectRatio, seed } = request;
  if (aspectRatio !== undefined || seed !== undefined) {
    throw fault('invalid_request', 'this API has no aspectRatio and no seed; use size');
  }
  const body = {
    ...{ model, prompt, n: count },
    ...(size === undefined ? {} : { size }),
    ...(asksForBytes ? { response_format: 'b64_json' } : {}),
  };
  return withCallOptions(provider, body, request, ['model', 'prompt', 'n', 'stream']);
}

function imageIn(entry: JsonObject): MediaContent {
  const base64 = textIn(entry, 'b64_json');
  if (base64 === undefined) {
    throw fault('protocol_error', 'the answer has no bytes of the picture, perhaps only a URL');
  }
  return imageOf(base64);
}

/**
 * Creates an image from bytes or base64. Throws a fault of the kind `protocol_error` if the data is invalid.
 */
export function imageOf(data: string | Uint8Array): MediaContent {
  const bytes = typeof data === 'string' ? fromBase64(data) : data;
  if (bytes !== undefined && bytes.length > 0) return { bytes, mimeType: imageTypeOf(bytes) };
  throw fault('protocol_error', 'the answer has a picture that is not valid base64');
}

/** The first bytes of each image format, as Latin-1, with the media type of the format. */
const imageStarts: readonly (readonly [start: RegExp, mimeType: string])[] = [
  [/^\x89PNG/, 'image/png'],
  [/^\xff\xd8\xff/, 'image/jpeg'],
  [/^GIF8/, 'image/gif'],
  [/^RIFF.{4}WEBP/s, 'image/webp'],
  [/^.{4}ftypavif/s, 'image/avif'],
  [/^\s*<(?:svg|\?xml)/, 'image/svg+xml'],
];

/** Returns the media type of an image. It checks the bytes, because APIs do not always report the type. */
function imageTypeOf(bytes: Uint8Array): string {
  const start = String.fromCharCode(...bytes.subarray(0, 64));
  return imageStarts.find(([mark]) => mark.test(start))?.[1] ?? 'application/octet-stream';
}
