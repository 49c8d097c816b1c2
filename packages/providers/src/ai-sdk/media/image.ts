import type { ImageModelV3, ImageModelV4 } from '@ai-sdk/provider';
import type { ImageModel } from '../../contract/media.ts';
import { imageOf } from '../../media/image.ts';
import { mediaUsage } from '../../media/media-client.ts';
import { type AiSdkMediaOptions, aiSdkCaller } from './call-model.ts';

/** An image model of any package that implements the AI SDK's interface, version 3 or 4. */
export type AiSdkImageModel = ImageModelV3 | ImageModelV4;

/**
 * Converts an image model of any AI SDK provider package. Use the result with `generateImage` of
 * `@millrace/providers/media`.
 *
 * @example
 * const model = imageFromAiSdk(google.image('imagen-4.0-generate-001'));
 */
export function imageFromAiSdk(
  model: AiSdkImageModel,
  options: AiSdkMediaOptions = {},
): ImageModel {
  const caller = aiSdkCaller('imageFromAiSdk', model, options);
  const { maxImagesPerCall } = model;
  return {
    provider: caller.provider,
    model: caller.model,
    // If the package does not report a number, each request asks for only one image. Every model can create
    // one image.
    maxImages: typeof maxImagesPerCall === 'number' && maxImagesPerCall > 0 ? maxImagesPerCall : 1,
    generate: ({ prompt, count, size, aspectRatio, seed, providerOptions = {}, signal }) =>
      caller.call(
        {
          signal,
          call: (extras) =>
            model.doGenerate({
              ...{ prompt, n: count, size, aspectRatio, seed, files: undefined, mask: undefined },
              ...{ providerOptions: { ...providerOptions }, ...extras },
            }),
        },
        ({ images, usage }) => {
          const [input, output] = [usage?.inputTokens, usage?.outputTokens];
          const isKnown = input !== undefined && output !== undefined;
          return {
            images: images.map(imageOf),
            usage: mediaUsage(isKnown ? { input, output } : undefined, caller.info),
          };
        },
      ),
  };
}
