import type { FieldTable } from './field-faults.ts';

/** The request fields of openai 7.53.0. Written by scripts/wire-fields.ts. */
export const chatFields: FieldTable = {
  Body: 'audio?:ChatCompletionAudioParam|null frequency_penalty?:null|num function_call?:"auto"|"none"|ChatCompletionFunctionCallOption functions?:Function2[] logit_bias?:any logprobs?:bool|null max_completion_tokens?:null|num max_tokens?:null|num messages:ChatCompletionMessageParam[] metadata?:any modalities?:"audio"[]|"text"[]|null model:str moderation?:Moderation|null n?:null|num parallel_tool_calls?:bool prediction?:ChatCompletionPredictionContent|null presence_penalty?:null|num prompt_cache_key?:null|str prompt_cache_options?:PromptCacheOptions prompt_cache_retention?:"24h"|"in_memory"|null reasoning_effort?:"high"|"low"|"max"|"medium"|"minimal"|"none"|"xhigh"|null response_format?:ResponseFormatJSONObject|ResponseFormatJSONSchema|ResponseFormatText safety_identifier?:null|str seed?:null|num service_tier?:"auto"|"default"|"fast"|"flex"|"priority"|"scale"|null stop?:null|str|str[] store?:bool|null stream?:bool|null stream_options?:ChatCompletionStreamOptions|null temperature?:null|num tool_choice?:"auto"|"none"|"required"|ChatCompletionAllowedToolChoice|ChatCompletionNamedToolChoice|ChatCompletionNamedToolChoiceCustom tools?:ChatCompletionCustomTool[]|ChatCompletionFunctionTool[] top_logprobs?:null|num top_p?:null|num user?:str verbosity?:"high"|"low"|"medium"|null web_search_options?:WebSearchOptions',
  ChatCompletionMessageParam:
    '= ChatCompletionAssistantMessageParam|ChatCompletionDeveloperMessageParam|ChatCompletionFunctionMessageParam|ChatCompletionSystemMessageParam|ChatCompletionToolMessageParam|ChatCompletionUserMessageParam',
  ChatCompletionAssistantMessageParam:
    'audio?:Audio|null content?:ChatCompletionContentPartRefusal[]|ChatCompletionContentPartText[]|null|str function_call?:FunctionCall|null name?:str refusal?:null|str role:"assistant" tool_calls?:ChatCompletionMessageCustomToolCall[]|ChatCompletionMessageFunctionToolCall[]',
  Audio: 'id:str',
  ChatCompletionContentPartRefusal: 'refusal:str type:"refusal"',
  ChatCompletionContentPartText:
    'prompt_cache_breakpoint?:PromptCacheBreakpoint text:str type:"text"',
  PromptCacheBreakpoint: 'mode:"explicit" ttl?:"12h"|"30m"',
  FunctionCall: 'arguments:str name:str',
  ChatCompletionMessageCustomToolCall: 'custom:Custom id:str type:"custom"',
  Custom: 'input:str name:str',
  ChatCompletionMessageFunctionToolCall: 'function:Function id:str type:"function"',
  Function: 'arguments:str name:str',
  ChatCompletionDeveloperMessageParam:
    'content:ChatCompletionContentPartText[]|str name?:str role:"developer"',
  ChatCompletionFunctionMessageParam: 'content:null|str name:str role:"function"',
  ChatCompletionSystemMessageParam:
    'content:ChatCompletionContentPartText[]|str name?:str role:"system"',
  ChatCompletionToolMessageParam:
    'content:ChatCompletionContentPartText[]|str role:"tool" tool_call_id:str',
  ChatCompletionUserMessageParam: 'content:ChatCompletionContentPart[]|str name?:str role:"user"',
  ChatCompletionContentPart:
    '= ChatCompletionContentPartImage|ChatCompletionContentPartInputAudio|ChatCompletionContentPartText|File',
  ChatCompletionContentPartImage:
    'image_url:ImageURL prompt_cache_breakpoint?:PromptCacheBreakpoint2 type:"image_url"',
  ImageURL: 'detail?:"auto"|"high"|"low"|"original" url:str',
  PromptCacheBreakpoint2: 'mode:"explicit" ttl?:"12h"|"30m"',
  ChatCompletionContentPartInputAudio:
    'input_audio:InputAudio prompt_cache_breakpoint?:PromptCacheBreakpoint3 type:"input_audio"',
  InputAudio: 'data:str format:"mp3"|"wav"',
  PromptCacheBreakpoint3: 'mode:"explicit" ttl?:"12h"|"30m"',
  File: 'file:File2 prompt_cache_breakpoint?:PromptCacheBreakpoint4 type:"file"',
  File2: 'file_data?:str file_id?:str filename?:str',
  PromptCacheBreakpoint4: 'mode:"explicit" ttl?:"12h"|"30m"',
  ChatCompletionAudioParam: 'format:"aac"|"flac"|"mp3"|"opus"|"pcm16"|"wav" voice:ID|str',
  ID: 'id:str',
  ChatCompletionFunctionCallOption: 'name:str',
  Function2: 'description?:str name:str parameters?:any',
  Moderation: 'model:str policy?:Policy|null',
  Policy: 'input?:Input|null output?:Output|null',
  Input: 'mode:"block"|"score"',
  Output: 'mode:"block"|"score"',
  ChatCompletionPredictionContent: 'content:ChatCompletionContentPartText[]|str type:"content"',
  PromptCacheOptions: 'mode?:"explicit"|"implicit" ttl?:"30m"',
  ResponseFormatJSONObject: 'type:"json_object"',
  ResponseFormatJSONSchema: 'json_schema:JSONSchema type:"json_schema"',
  JSONSchema: 'description?:str name:str schema?:any strict?:bool|null',
  ResponseFormatText: 'type:"text"',
  ChatCompletionStreamOptions: 'include_obfuscation?:bool include_usage?:bool',
  ChatCompletionAllowedToolChoice: 'allowed_tools:ChatCompletionAllowedTools type:"allowed_tools"',
  ChatCompletionAllowedTools: 'mode:"auto"|"required" tools:any[]',
  ChatCompletionNamedToolChoice: 'function:Function3 type:"function"',
  Function3: 'name:str',
  ChatCompletionNamedToolChoiceCustom: 'custom:Custom2 type:"custom"',
  Custom2: 'name:str',
  ChatCompletionCustomTool: 'custom:Custom3 type:"custom"',
  Custom3: 'description?:str format?:Grammar|Text name:str',
  Grammar: 'grammar:Grammar2 type:"grammar"',
  Grammar2: 'definition:str syntax:"lark"|"regex"',
  Text: 'type:"text"',
  ChatCompletionFunctionTool: 'function:FunctionDefinition type:"function"',
  FunctionDefinition: 'description?:str name:str parameters?:any strict?:bool|null',
  WebSearchOptions: 'search_context_size?:"high"|"low"|"medium" user_location?:UserLocation|null',
  UserLocation: 'approximate:Approximate type:"approximate"',
  Approximate: 'city?:str country?:str region?:str timezone?:str',
};
