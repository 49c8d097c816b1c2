// Made by scripts/models.ts from litellm 1.108.4 (MIT); see THIRD-PARTY.txt.
// Do not edit it. Change src/models/corrections.ts, and run: npm run models

/**
 * Limits and abilities of models of Google. Each line has a ModelInfo as JSON, a tab, and the
 * names of the models that have it, separated by spaces.
 */
export const geminiTraits: string = `
{"efforts":["low","medium","high"],"thinking":"effort","outputWithTools":true,"signedCalls":true,"mediaInResults":true,"inputs":["image","pdf","audio","video"],"reasons":true}	gemini/gemini-*
{"efforts":["low","high"],"thinking":"effort","outputWithTools":true,"signedCalls":true,"mediaInResults":true,"inputs":["image","pdf","audio","video"],"reasons":true}	gemini/gemini-3-pro*
{"efforts":["minimal","low","medium","high"],"thinking":"effort","outputWithTools":true,"signedCalls":true,"mediaInResults":true,"inputs":["image","pdf","audio","video"],"reasons":true}	gemini/gemini-3-flash*
{"inputs":["image","pdf","audio","video"],"reasons":true,"efforts":["low","medium","high"],"outputWithTools":false,"thinking":"budget","thinkingBudget":[0,24576]}	gemini/gemini-2.5-*
{"inputs":["image","pdf","audio","video"],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/gemini-2* gemini/gemini-1*
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":["image"],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/deep-research-max-preview-04-2026 gemini/deep-research-preview-04-2026
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":["image","pdf","audio","video"],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/deep-research-pro-preview-12-2025
{"contextTokens":128000,"maxOutputTokens":64000,"inputs":["image"],"reasons":false,"efforts":["low","medium","high"],"outputWithTools":false,"thinking":"budget","thinkingBudget":[0,24576]}	gemini/gemini-2.5-computer-use-preview-10-2025
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":["image","pdf","audio","video"],"reasons":true,"efforts":["low","medium","high"],"outputWithTools":false,"thinking":"budget","thinkingBudget":[0,24576]}	gemini/gemini-2.5-flash gemini/gemini-2.5-flash-lite
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":["image","pdf","audio","video"],"reasons":true,"efforts":["low","medium","high"],"outputWithTools":false,"thinking":"budget","thinkingBudget":[128,32768]}	gemini/gemini-2.5-pro
{"contextTokens":8192,"maxOutputTokens":16384,"inputs":[],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/gemini-2.5-pro-preview-tts
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":["image","pdf","audio","video"],"reasons":true,"efforts":["minimal","low","medium","high"],"outputWithTools":true,"thinking":"effort","signedCalls":true,"mediaInResults":true}	gemini/gemini-3-flash-preview gemini/gemini-3.1-flash-lite gemini/gemini-3.1-flash-lite-preview gemini/gemini-3.5-flash
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":["image","pdf","audio","video"],"reasons":true,"efforts":["low","medium","high"],"outputWithTools":true,"thinking":"effort","signedCalls":true,"mediaInResults":true}	gemini/gemini-3.1-pro-preview gemini/gemini-3.1-pro-preview-customtools gemini/gemini-flash-latest gemini/gemini-flash-lite-latest gemini/gemini-pro-latest
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":["image","pdf","audio","video"],"reasons":true,"efforts":["minimal","low","medium","high"],"sampling":"never","outputWithTools":true,"thinking":"effort","signedCalls":true,"mediaInResults":true}	gemini/gemini-3.5-flash-lite gemini/gemini-3.6-flash
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":["image","pdf","audio","video"],"reasons":true,"efforts":["low","medium","high"],"sampling":"never","outputWithTools":true,"thinking":"effort","signedCalls":true,"mediaInResults":true}	gemini/gemini-3.7-flash gemini/gemini-3.8-flash
{"contextTokens":1048576,"maxOutputTokens":1048576,"inputs":["image","pdf","audio","video"],"reasons":true,"efforts":["low","medium","high"],"outputWithTools":true,"thinking":"effort","signedCalls":true,"mediaInResults":true}	gemini/gemini-4-argon
{"contextTokens":1048576,"maxOutputTokens":8192,"inputs":["image"],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/gemini-exp-1114
{"contextTokens":2097152,"maxOutputTokens":8192,"inputs":["image"],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/gemini-exp-1206
{"maxOutputTokens":8192,"inputs":["image"],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/gemini-gemma-2-27b-it gemini/gemini-gemma-2-9b-it
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":["image","audio","video"],"reasons":true,"efforts":["low","medium","high"],"outputWithTools":true,"thinking":"effort","signedCalls":true,"mediaInResults":true}	gemini/gemini-omni-1.1-flash
{"contextTokens":131072,"maxOutputTokens":65536,"inputs":["image","audio","video"],"reasons":true,"efforts":["low","medium","high"],"outputWithTools":true,"thinking":"effort","signedCalls":true,"mediaInResults":true}	gemini/gemini-omni-flash-preview gemini/gemini-robotics-er-2-streaming-preview
{"contextTokens":131072,"maxOutputTokens":65536,"inputs":["image","pdf","audio","video"],"reasons":true,"efforts":["low","medium","high"],"outputWithTools":true,"thinking":"effort","signedCalls":true,"mediaInResults":true}	gemini/gemini-robotics-er-2-preview
{"contextTokens":131072,"maxOutputTokens":8192,"inputs":["image"],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/gemma-3-27b-it
{"contextTokens":262144,"maxOutputTokens":32768,"inputs":["image"],"reasons":true,"efforts":[],"outputWithTools":false}	gemini/gemma-4-26b-a4b-it gemini/gemma-4-31b-it
{"contextTokens":32767,"maxOutputTokens":8192,"inputs":["image"],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/learnlm-1.5-pro-experimental
{"contextTokens":131072,"maxOutputTokens":8192,"inputs":[],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/lyria-3-clip-preview gemini/lyria-3-pro-preview gemini/lyria-3.5-clip-preview gemini/lyria-3.5-pro-preview
{"contextTokens":131072,"maxOutputTokens":65536,"inputs":[],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/lyria-3.5
{"contextTokens":1048576,"maxOutputTokens":65536,"inputs":[],"reasons":false,"efforts":[],"outputWithTools":false}	gemini/lyria-realtime-exp
`;
