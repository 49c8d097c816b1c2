// Made by scripts/models.ts from litellm 1.108.4 (MIT); see THIRD-PARTY.txt.
// Do not edit it. Change src/models/corrections.ts, and run: npm run models

/**
 * Limits and abilities of other models. Each line has a ModelInfo as JSON, a tab, and the
 * names of the models that have it, separated by spaces.
 */
export const otherTraits: string = `
{"reasons":true,"efforts":["none","low","medium","high"],"sampling":"without_reasoning"}	openai/gpt-*
{"reasons":false,"efforts":[],"sampling":"always"}	openai/gpt-3* openai/gpt-4* openai/chatgpt*
{"reasons":false,"efforts":[],"sampling":"always","inputs":["audio"]}	openai/gpt-4o-audio* openai/gpt-4o-mini-audio*
{"reasons":true,"efforts":["low","medium","high"],"sampling":"never"}	openai/o1* openai/o3* openai/o4*
{"contextTokens":131072,"maxOutputTokens":40960,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	cerebras/gemma-4-31b
{"contextTokens":131072,"maxOutputTokens":32768,"reasons":true,"efforts":["low","medium","high"]}	cerebras/gpt-oss-120b
{"contextTokens":128000,"maxOutputTokens":128000}	cerebras/llama-3.3-70b cerebras/llama3.1-70b cerebras/llama3.1-8b mistral/codestral-2508 mistral/codestral-latest mistral/mistral-code-fim-latest mistral/mistral-code-latest mistral/open-mistral-nemo
{"contextTokens":128000,"maxOutputTokens":128000,"reasons":true,"efforts":["low","medium","high"]}	cerebras/qwen-3-32b
{"contextTokens":65536,"maxOutputTokens":32768,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	cerebras/qwen-3.8-27b
{"contextTokens":8192}	groq/llama-guard-3-8b together/google/gemma-2-27b-it together/meta-llama/llama-3-8b-chat-hf together/meta-llama/meta-llama-3-70b-instruct-turbo together/meta-llama/meta-llama-3-8b-instruct
{"contextTokens":512,"maxOutputTokens":512}	groq/meta-llama/llama-prompt-guard-2-22m groq/meta-llama/llama-prompt-guard-2-86m
{"contextTokens":131072,"maxOutputTokens":65536,"reasons":true,"efforts":["low","medium","high"]}	groq/openai/gpt-oss-120b groq/openai/gpt-oss-20b groq/openai/gpt-oss-safeguard-20b
{"contextTokens":131072,"maxOutputTokens":16384,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	groq/qwen/qwen3.8-27b
{"contextTokens":256000,"maxOutputTokens":256000}	mistral/codestral-mamba-latest mistral/devstral-latest mistral/devstral-medium-latest mistral/devstral-small-latest mistral/mistral-code-agent-latest
{"contextTokens":1048576,"maxOutputTokens":131072,"reasons":true,"efforts":["none","minimal","low","medium","high","xhigh","max"]}	mistral/glm-5-2 mistral/zai-glm-5-2
{"contextTokens":262144,"maxOutputTokens":131072}	mistral/labs-leanstral-1-5 mistral/labs-leanstral-1-5-1
{"contextTokens":262144,"maxOutputTokens":262144,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	mistral/magistral-medium-latest mistral/magistral-small-latest
{"contextTokens":262144,"maxOutputTokens":262144,"inputs":["image"]}	mistral/ministral-14b-2512 mistral/ministral-14b-latest mistral/ministral-3-14b-2512 mistral/ministral-3-8b-2512 mistral/ministral-8b-2512 mistral/ministral-8b-latest mistral/mistral-large-2512 mistral/mistral-large-3 mistral/mistral-large-latest
{"contextTokens":131072,"maxOutputTokens":131072,"inputs":["image"]}	mistral/ministral-3-3b-2512 mistral/ministral-3b-2512 mistral/ministral-3b-latest
{"contextTokens":1048576,"inputs":["image"],"reasons":true,"efforts":["none","high"]}	mistral/mistral-large-4 mistral/mistral-large-4-0
{"contextTokens":262144,"maxOutputTokens":262144,"inputs":["image"],"reasons":true,"efforts":["none","high"]}	mistral/mistral-medium mistral/mistral-medium-2604 mistral/mistral-medium-3 mistral/mistral-medium-3-5 mistral/mistral-medium-3.5 mistral/mistral-medium-latest mistral/mistral-small-2603 mistral/mistral-small-latest mistral/mistral-vibe-cli-fast mistral/mistral-vibe-cli-latest mistral/mistral-vibe-cli-with-tools
{"contextTokens":32000,"maxOutputTokens":8191}	mistral/mistral-small mistral/mistral-tiny
{"contextTokens":128000,"maxOutputTokens":128000,"inputs":["image"]}	mistral/pixtral-large-latest
{"contextTokens":32768,"maxOutputTokens":32768,"inputs":["audio"]}	mistral/voxtral-small-2507 mistral/voxtral-small-latest
{"contextTokens":1048576,"maxOutputTokens":131072,"reasons":true,"efforts":["low","high","max"]}	mistral/zai-glm-5 mistral/zai-glm-5-3 mistral/zai-glm-latest
{"contextTokens":400000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["medium"],"sampling":"never"}	openai/chat-latest
{"contextTokens":8192,"maxOutputTokens":1024,"inputs":["image","pdf"],"reasons":true,"efforts":["low","medium","high"],"sampling":"never"}	openai/computer-use-preview
{"inputs":[],"reasons":false,"efforts":[],"sampling":"always"}	openai/container openai/gpt-rosalind-discovery
{"contextTokens":922000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["low","medium","high"],"sampling":"never"}	openai/daybreak-blue-latest openai/gpt-daybreak-blue-latest
{"contextTokens":400000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["low","medium","high"],"sampling":"never"}	openai/daybreak-red-latest openai/gpt-5.6-cyber openai/gpt-daybreak-red-latest
{"contextTokens":16385,"maxOutputTokens":4096,"inputs":[],"reasons":false,"efforts":[],"sampling":"always"}	openai/ft:gpt-3.5-turbo openai/ft:gpt-3.5-turbo-0125 openai/ft:gpt-3.5-turbo-1106 openai/gpt-3.5-turbo openai/gpt-3.5-turbo-0125 openai/gpt-3.5-turbo-1106 openai/gpt-3.5-turbo-16k
{"contextTokens":4096,"maxOutputTokens":4096,"inputs":[],"reasons":false,"efforts":[],"sampling":"always"}	openai/ft:gpt-3.5-turbo-0613
{"contextTokens":8192,"maxOutputTokens":4096,"inputs":[],"reasons":false,"efforts":[],"sampling":"always"}	openai/ft:gpt-4-0613 openai/gpt-4 openai/gpt-4-0613
{"contextTokens":1047576,"maxOutputTokens":32768,"inputs":[],"reasons":false,"efforts":[],"sampling":"always"}	openai/ft:gpt-4.1 openai/ft:gpt-4.1-mini openai/ft:gpt-4.1-nano
{"contextTokens":128000,"maxOutputTokens":16384,"inputs":["pdf"],"reasons":false,"efforts":[],"sampling":"always"}	openai/ft:gpt-4o openai/ft:gpt-4o-mini
{"contextTokens":128000,"maxOutputTokens":16384,"inputs":["image","pdf"],"reasons":false,"efforts":[],"sampling":"always"}	openai/ft:gpt-4o-2024-08-06 openai/gpt-4o openai/gpt-4o-mini openai/gpt-5-chat openai/gpt-5-chat-latest openai/gpt-5.2-chat-latest openai/gpt-5.3-chat-latest
{"contextTokens":200000,"maxOutputTokens":100000,"inputs":[],"reasons":true,"efforts":["low","medium","high"],"sampling":"never"}	openai/ft:o4-mini openai/o3-mini
{"contextTokens":128000,"maxOutputTokens":4096,"inputs":[],"reasons":false,"efforts":[],"sampling":"always"}	openai/gpt-4-1106-preview
{"contextTokens":128000,"maxOutputTokens":4096,"inputs":["image","pdf"],"reasons":false,"efforts":[],"sampling":"always"}	openai/gpt-4-turbo openai/gpt-4o-2024-05-13
{"contextTokens":1047576,"maxOutputTokens":32768,"inputs":["image","pdf"],"reasons":false,"efforts":[],"sampling":"always","longCache":true}	openai/gpt-4.1
{"contextTokens":1047576,"maxOutputTokens":32768,"inputs":["image","pdf"],"reasons":false,"efforts":[],"sampling":"always"}	openai/gpt-4.1-mini openai/gpt-4.1-nano
{"contextTokens":128000,"maxOutputTokens":16384,"inputs":["audio"],"reasons":false,"efforts":[],"sampling":"always"}	openai/gpt-4o-audio-preview openai/gpt-4o-mini-audio-preview openai/gpt-audio openai/gpt-audio-1.5 openai/gpt-audio-mini
{"contextTokens":128000,"maxOutputTokens":16384,"inputs":["image","pdf"],"reasons":false,"efforts":[],"sampling":"never"}	openai/gpt-4o-mini-search-preview openai/gpt-4o-search-preview
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["minimal","low","medium","high"],"sampling":"never","longCache":true}	openai/gpt-5
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["low","medium","high"],"sampling":"never","longCache":true}	openai/gpt-5-codex
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["minimal","low","medium","high"],"sampling":"never"}	openai/gpt-5-mini openai/gpt-5-nano
{"contextTokens":400000,"maxOutputTokens":272000,"inputs":["image","pdf"],"reasons":true,"efforts":["high"],"sampling":"never"}	openai/gpt-5-pro
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":false,"efforts":[],"sampling":"never"}	openai/gpt-5-search-api
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["none","low","medium","high"],"defaultEffort":"none","sampling":"without_reasoning","longCache":true}	openai/gpt-5.1
{"contextTokens":128000,"maxOutputTokens":16384,"inputs":["image","pdf"],"reasons":false,"efforts":[],"sampling":"always","longCache":true}	openai/gpt-5.1-chat-latest
{"contextTokens":400000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["low","medium","high"],"sampling":"never","longCache":true}	openai/gpt-5.1-codex openai/gpt-5.1-codex-max openai/gpt-5.1-codex-mini
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["none","low","medium","high","xhigh"],"defaultEffort":"none","sampling":"without_reasoning","longCache":true}	openai/gpt-5.2
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["low","medium","high"],"sampling":"never"}	openai/gpt-5.2-codex
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["medium","high","xhigh"],"sampling":"never"}	openai/gpt-5.2-pro
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["none","low","medium","high","xhigh"],"sampling":"without_reasoning"}	openai/gpt-5.3-codex
{"contextTokens":1050000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["none","low","medium","high","xhigh"],"defaultEffort":"none","sampling":"without_reasoning","longCache":true}	openai/gpt-5.4
{"contextTokens":272000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["none","low","medium","high","xhigh"],"defaultEffort":"none","sampling":"without_reasoning"}	openai/gpt-5.4-mini openai/gpt-5.4-nano
{"contextTokens":1050000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["medium","high","xhigh"],"sampling":"never"}	openai/gpt-5.4-pro
{"contextTokens":1050000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["none","low","medium","high","xhigh"],"sampling":"without_reasoning","longCache":true}	openai/gpt-5.5
{"inputs":[],"reasons":true,"efforts":["low","medium","high"],"sampling":"never"}	openai/gpt-5.5-cyber openai/gpt-5.5-cyber-preview
{"contextTokens":1050000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["medium","high","xhigh"],"sampling":"never","longCache":true}	openai/gpt-5.5-pro
{"contextTokens":922000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["none","low","medium","high","xhigh"],"sampling":"without_reasoning"}	openai/gpt-5.6 openai/gpt-5.6-luna openai/gpt-5.6-sol openai/gpt-5.6-terra
{"contextTokens":922000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["low","medium","high","xhigh","max"],"sampling":"never"}	openai/gpt-6-astra openai/gpt-6.1-sol
{"contextTokens":922000,"maxOutputTokens":128000,"inputs":["image","pdf"],"reasons":true,"efforts":["none","low","medium","high","xhigh","max"],"sampling":"without_reasoning"}	openai/gpt-6-luna openai/gpt-6-sol
{"inputs":[],"reasons":false,"efforts":[],"sampling":"never"}	openai/gpt-rosalind-research
{"contextTokens":200000,"maxOutputTokens":100000,"inputs":["image","pdf"],"reasons":true,"efforts":["low","medium","high"],"sampling":"never"}	openai/o1 openai/o1-pro openai/o3 openai/o3-pro openai/o4-mini
{"contextTokens":200000,"maxOutputTokens":100000,"inputs":["image","pdf"],"reasons":false,"efforts":["medium"],"sampling":"never"}	openai/o3-deep-research openai/o4-mini-deep-research
{"contextTokens":128000}	together/arcee-ai/trinity-mini
{"contextTokens":32768}	together/arize-ai/qwen-2-1.5b-instruct together/mistralai/mistral-7b-instruct-v0.1 together/mistralai/mistral-7b-instruct-v0.3 together/mistralai/mistral-small-24b-instruct-2501 together/mistralai/mixtral-8x7b-instruct-v0.1 together/nousresearch/nous-hermes-2-mixtral-8x7b-dpo together/nvidia/llama-3.1-nemotron-70b-instruct-hf together/qwen/qwen2-1.5b-instruct together/qwen/qwen2-72b-instruct together/qwen/qwen2-vl-72b-instruct together/qwen/qwen2.5-14b-instruct together/qwen/qwen2.5-72b-instruct together/qwen/qwen2.5-7b-instruct-turbo together/qwen/qwen2.5-vl-72b-instruct together/together/tev1-4b-experimental
{"contextTokens":16384}	together/deepseek-ai/deepseek-coder-33b-instruct together/qwen/qwen2.5-coder-32b-instruct
{"contextTokens":163840}	together/deepseek-ai/deepseek-r1-0528
{"contextTokens":131072}	together/deepseek-ai/deepseek-r1-distill-llama-70b together/deepseek-ai/deepseek-r1-distill-qwen-1.5b together/deepseek-ai/deepseek-r1-distill-qwen-14b together/deepseek-ai/deepseek-v3.1 together/meta-llama/llama-3.2-1b-instruct together/meta-llama/llama-3.2-3b-instruct together/meta-llama/llama-3.3-70b-instruct-turbo together/meta-llama/meta-llama-3.1-70b-instruct-turbo together/meta-llama/meta-llama-3.1-8b-instruct-turbo together/meta-models/muse-glimmer-30b together/nvidia/nvidia-nemotron-nano-9b-v2 together/openai/gpt-oss-20b together/qwen/qwen2.5-72b-instruct-turbo together/qwen/qwq-32b together/zai-org/glm-4.5-air-fp8
{"contextTokens":65536,"maxOutputTokens":8192}	together/deepseek-ai/deepseek-v3
{"contextTokens":1048576}	together/deepseek-ai/deepseek-v4-flash-0731 together/deepseek-ai/deepseek-v4-pro-0813 together/deepseek-ai/deepseek-v4.1-flash together/meta-llama/llama-4-scout-17b-16e-instruct together/meta-models/muse-spark-open-816b-a42b together/reflection/beam-1.0-501b-a23b
{"contextTokens":1048576,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	together/deepseek-ai/deepseek-v4.1-flash-1017
{"contextTokens":262144}	together/google/gemma-4-31b-it together/mistralai/ministral-3-14b-instruct-2512 together/moonshotai/kimi-k2.5-fp4 together/moonshotai/kimi-k2.6 together/moonshotai/kimi-k2.7-code together/prism-ml/ternary-bonsai-27b together/qwen/qwen3-coder-480b-a35b-instruct-fp8 together/qwen/qwen3-coder-next-fp8 together/qwen/qwen3-next-80b-a3b-instruct together/qwen/qwen3-next-80b-a3b-thinking together/qwen/qwen3-vl-32b-instruct together/qwen/qwen3-vl-8b-instruct together/qwen/qwen3.5-397b-a17b
{"contextTokens":4096}	together/meta-llama/llama-3.1-405b-instruct
{"contextTokens":196608}	together/minimaxai/minimax-m2.7
{"contextTokens":524288,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	together/minimaxai/minimax-m3
{}	together/moonshotai/kimi-k2-instruct together/together-ai-21.1b-41b together/together-ai-4.1b-8b together/together-ai-41.1b-80b together/together-ai-8.1b-21b together/together-ai-81.1b-110b together/together-ai-up-to-4b
{"contextTokens":1048576,"inputs":["image"],"reasons":true,"efforts":["low","high","max"]}	together/moonshotai/kimi-k3
{"contextTokens":512288}	together/nvidia/nemotron-3-ultra-550b-a55b
{"contextTokens":262144,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	together/nvidia/nvidia-nemotron-3.5-super-vl together/qwen/qwen3.5-9b
{"contextTokens":131072,"reasons":true,"efforts":["low","medium","high"]}	together/openai/gpt-oss-120b
{"contextTokens":1000000,"reasons":true,"efforts":["low","medium","high"]}	together/qwen/qwen3.6-plus
{"contextTokens":1000000}	together/qwen/qwen3.7-max together/qwen/qwen3.7-plus together/qwen/qwen3.8-flash
{"contextTokens":1010000}	together/qwen/qwen3.8-2.4t-a95b
{"contextTokens":524288}	together/thinkingmachines/inkling
{"contextTokens":202752,"reasons":true,"efforts":["low","medium","high"]}	together/zai-org/glm-4.6
{"contextTokens":202752}	together/zai-org/glm-4.7 together/zai-org/glm-5 together/zai-org/glm-5.1
{"contextTokens":1048575,"maxOutputTokens":128000,"reasons":true,"efforts":["low","medium","high"]}	together/zai-org/glm-5.2 together/zai-org/glm-5.3
{"contextTokens":1048575,"maxOutputTokens":128000,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	together/zai-org/glm-5.3-flash
{"contextTokens":1000000,"maxOutputTokens":1000000,"inputs":["image"],"reasons":true,"efforts":[]}	xai/grok-4.20 xai/grok-4.20-0309 xai/grok-4.20-0309-reasoning xai/grok-4.20-beta xai/grok-4.20-beta-0309 xai/grok-4.20-beta-0309-reasoning xai/grok-4.20-beta-latest xai/grok-4.20-beta-latest-reasoning xai/grok-4.20-beta-reasoning xai/grok-4.20-experimental-beta-0304 xai/grok-4.20-experimental-beta-0304-reasoning xai/grok-4.20-experimental-beta-latest xai/grok-4.20-experimental-beta-reasoning-latest xai/grok-4.20-reasoning xai/grok-4.20-reasoning-gv2 xai/grok-4.20-reasoning-latest
{"contextTokens":1000000,"maxOutputTokens":1000000,"inputs":["image"],"efforts":[]}	xai/grok-4.20-0309-non-reasoning xai/grok-4.20-beta-0309-non-reasoning xai/grok-4.20-beta-latest-non-reasoning xai/grok-4.20-beta-non-reasoning xai/grok-4.20-experimental-beta-0304-non-reasoning xai/grok-4.20-experimental-beta-non-reasoning-latest xai/grok-4.20-non-reasoning xai/grok-4.20-non-reasoning-gv2 xai/grok-4.20-non-reasoning-latest
{"contextTokens":1000000,"maxOutputTokens":1000000,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	xai/grok-4.20-multi-agent xai/grok-4.20-multi-agent-0309 xai/grok-4.20-multi-agent-beta-0309 xai/grok-4.20-multi-agent-beta-latest xai/grok-4.20-multi-agent-experimental-beta-0304 xai/grok-4.20-multi-agent-experimental-beta-latest xai/grok-4.20-multi-agent-latest xai/grok-4.3 xai/grok-4.3-latest
{"contextTokens":500000,"maxOutputTokens":500000,"inputs":["image"],"reasons":true,"efforts":["low","medium","high"]}	xai/grok-4.5 xai/grok-4.5-latest xai/grok-4.6 xai/grok-4.7
{"contextTokens":256000,"maxOutputTokens":256000,"inputs":["image"],"reasons":true,"efforts":[]}	xai/grok-build-0.1 xai/grok-code-fast xai/grok-code-fast-1 xai/grok-code-fast-1-0825
{"contextTokens":500000,"maxOutputTokens":500000,"inputs":["image"],"reasons":true,"efforts":[]}	xai/grok-build-latest
`;
