import type { FieldTable } from './field-faults.ts';

/** The request fields of openai 7.53.0. Written by scripts/wire-fields.ts. */
export const responsesFields: FieldTable = {
  Body: 'access_programs?:AccessPrograms background?:bool|null context_management?:ContextManagement[]|null conversation?:ResponseConversationParam|null|str image?:Image include?:"code_interpreter_call.outputs"[]|"computer_call_output.output.image_url"[]|"file_search_call.results"[]|"message.input_image.image_url"[]|"message.output_text.logprobs"[]|"reasoning.encrypted_content"[]|"web_search_call.action.sources"[]|"web_search_call.results"[]|null input?:ResponseInputItem[]|str instructions?:null|str max_output_tokens?:null|num max_tool_calls?:null|num metadata?:any model?:str moderation?:Moderation|null parallel_tool_calls?:bool|null previous_response_id?:null|str prompt?:ResponsePrompt|null prompt_cache_key?:null|str prompt_cache_options?:PromptCacheOptions prompt_cache_retention?:"24h"|"in_memory"|null reasoning?:Reasoning4|null safety_identifier?:null|str service_tier?:"auto"|"default"|"fast"|"flex"|"priority"|"scale"|"ultrafast"|null store?:bool|null stream?:bool|null stream_options?:StreamOptions|null temperature?:null|num text?:ResponseTextConfig tool_choice?:"auto"|"none"|"required"|SpecificProgrammaticToolCallingParam|ToolChoiceAllowed|ToolChoiceApplyPatch|ToolChoiceCustom|ToolChoiceFunction|ToolChoiceMcp|ToolChoiceShell|ToolChoiceTypes tools?:Tool[] top_logprobs?:null|num top_p?:null|num truncation?:"auto"|"disabled"|null user?:str',
  AccessPrograms: 'cyber?:"daybreak_blue"|"daybreak_red"|"standard"',
  ContextManagement: 'compact_threshold?:null|num type:str',
  ResponseConversationParam: 'id:str',
  Image: 'context_compression?:"auto"|"disabled"|"enabled"',
  ResponseInputItem:
    '= AdditionalTools|ApplyPatchCall|ApplyPatchCallOutput|CompactionTrigger|ComputerCallOutput|EasyInputMessage|FunctionCallOutput|ImageGenerationCall|ItemReference|LocalShellCall|LocalShellCallOutput|McpApprovalRequest|McpApprovalResponse|McpCall|McpListTools|Message|Program4|ProgramOutput|ResponseCodeInterpreterToolCall|ResponseCompactionItemParam|ResponseComputerToolCall|ResponseConfigurationUpdateItemParam|ResponseCustomToolCall|ResponseCustomToolCallOutput|ResponseFileSearchToolCall|ResponseFunctionToolCall|ResponseFunctionWebSearch|ResponseOutputMessage|ResponseReasoningItem|ResponseToolSearchOutputItemParam|ShellCall|ShellCallOutput|ToolSearchCall',
  AdditionalTools: 'id?:null|str role:"developer" tools:Tool[] type:"additional_tools"',
  Tool: '= ApplyPatchTool|CodeInterpreter|ComputerTool|ComputerUsePreviewTool|CustomTool|FileSearchTool|FunctionShellTool|FunctionTool|ImageGeneration|LocalShell|Mcp|NamespaceTool|ProgrammaticToolCalling|ToolSearchTool|WebSearchPreviewTool|WebSearchTool',
  ApplyPatchTool: 'allowed_callers?:"direct"[]|"programmatic"[]|null type:"apply_patch"',
  CodeInterpreter:
    'allowed_callers?:"direct"[]|"programmatic"[]|null container:CodeInterpreterToolAuto|str type:"code_interpreter"',
  CodeInterpreterToolAuto:
    'file_ids?:str[] memory_limit?:"16g"|"1g"|"4g"|"64g"|null network_policy?:ContainerNetworkPolicyAllowlist|ContainerNetworkPolicyDisabled type:"auto"',
  ContainerNetworkPolicyAllowlist:
    'allowed_domains:str[] domain_secrets?:ContainerNetworkPolicyDomainSecret[] type:"allowlist"',
  ContainerNetworkPolicyDomainSecret: 'domain:str name:str value:str',
  ContainerNetworkPolicyDisabled: 'type:"disabled"',
  ComputerTool: 'type:"computer"',
  ComputerUsePreviewTool:
    'display_height:num display_width:num environment:"browser"|"linux"|"mac"|"ubuntu"|"windows" type:"computer_use_preview"',
  CustomTool:
    'allowed_callers?:"direct"[]|"programmatic"[]|null async?:bool defer_loading?:bool description?:str format?:Grammar|Text name:str type:"custom"',
  Grammar: 'definition:str syntax:"lark"|"regex" type:"grammar"',
  Text: 'type:"text"',
  FileSearchTool:
    'filters?:ComparisonFilter|CompoundFilter|null max_num_results?:num ranking_options?:RankingOptions type:"file_search" vector_store_ids:str[]',
  ComparisonFilter:
    'key:str type:"eq"|"gt"|"gte"|"in"|"lt"|"lte"|"ne"|"nin" value:bool|num|num[]|str|str[]',
  CompoundFilter: 'filters:any[] type:"and"|"or"',
  RankingOptions:
    'hybrid_search?:HybridSearch ranker?:"auto"|"default-2024-11-15" score_threshold?:num',
  HybridSearch: 'embedding_weight:num text_weight:num',
  FunctionShellTool:
    'allowed_callers?:"direct"[]|"programmatic"[]|null environment?:ContainerAuto|ContainerReference|LocalEnvironment|null type:"shell"',
  ContainerAuto:
    'file_ids?:str[] memory_limit?:"16g"|"1g"|"4g"|"64g"|null network_policy?:ContainerNetworkPolicyAllowlist|ContainerNetworkPolicyDisabled skills?:InlineSkill[]|SkillReference[] type:"container_auto"',
  InlineSkill: 'description:str name:str source:InlineSkillSource type:"inline"',
  InlineSkillSource: 'data:str media_type:"application/zip" type:"base64"',
  SkillReference: 'skill_id:str type:"skill_reference" version?:str',
  ContainerReference: 'container_id:str type:"container_reference"',
  LocalEnvironment: 'skills?:LocalSkill[] type:"local"',
  LocalSkill: 'description:str name:str path:str',
  FunctionTool:
    'allowed_callers?:"direct"[]|"programmatic"[]|null async?:bool defer_loading?:bool description?:null|str name:str output_schema?:any parameters:any strict:bool|null type:"function"',
  ImageGeneration:
    'action?:"auto"|"edit"|"generate" background?:"auto"|"opaque"|"transparent" complexity?:"high"|"low"|"medium" frame_count?:num frame_duration_ms?:num input_fidelity?:"high"|"low"|null input_image_mask?:InputImageMask model?:str moderation?:"auto"|"low" output_compression?:num output_format?:"gif"|"jpeg"|"png"|"svg"|"webp" partial_images?:num quality?:"auto"|"high"|"low"|"max"|"medium"|"xhigh" size?:str svg?:Svg type:"image_generation"',
  InputImageMask: 'file_id?:str image_url?:str',
  Svg: 'model?:str reasoning?:Reasoning|null',
  Reasoning: 'effort?:"high"|"low"|"max"|"medium"|"minimal"|"none"|"xhigh"',
  LocalShell: 'type:"local_shell"',
  Mcp: 'allowed_callers?:"direct"[]|"programmatic"[]|null allowed_tools?:McpToolFilter|null|str[] authorization?:str connector_id?:"connector_dropbox"|"connector_gmail"|"connector_googlecalendar"|"connector_googledrive"|"connector_microsoftteams"|"connector_outlookcalendar"|"connector_outlookemail"|"connector_sharepoint" defer_loading?:bool headers?:any require_approval?:"always"|"never"|McpToolApprovalFilter|null server_description?:str server_label:str server_url?:str tunnel_id?:str type:"mcp"',
  McpToolFilter: 'read_only?:bool tool_names?:str[]',
  McpToolApprovalFilter: 'always?:Always never?:Never',
  Always: 'read_only?:bool tool_names?:str[]',
  Never: 'read_only?:bool tool_names?:str[]',
  NamespaceTool: 'description:str name:str tools:CustomTool[]|Function[] type:"namespace"',
  Function:
    'allowed_callers?:"direct"[]|"programmatic"[]|null async?:bool defer_loading?:bool description?:null|str name:str output_schema?:any parameters?:any strict?:bool|null type:"function"',
  ProgrammaticToolCalling: 'type:"programmatic_tool_calling"',
  ToolSearchTool:
    'description?:null|str execution?:"client"|"server" parameters?:any type:"tool_search"',
  WebSearchPreviewTool:
    'search_content_types?:"image"[]|"text"[] search_context_size?:"high"|"low"|"medium" type:"web_search_preview"|"web_search_preview_2025_03_11" user_location?:UserLocation|null',
  UserLocation:
    'city?:null|str country?:null|str region?:null|str timezone?:null|str type:"approximate"',
  WebSearchTool:
    'external_web_access?:bool filters?:Filters|null search_context_size?:"high"|"low"|"medium" type:"web_search"|"web_search_2025_08_26" user_location?:UserLocation2|null',
  Filters: 'allowed_domains?:null|str[]',
  UserLocation2:
    'city?:null|str country?:null|str region?:null|str timezone?:null|str type?:"approximate"',
  ApplyPatchCall:
    'call_id:str caller?:Direct|Program|null id?:null|str operation:CreateFile|DeleteFile|UpdateFile status:"completed"|"in_progress" type:"apply_patch_call"',
  CreateFile: 'diff:str path:str type:"create_file"',
  DeleteFile: 'path:str type:"delete_file"',
  UpdateFile: 'diff:str path:str type:"update_file"',
  Direct: 'type:"direct"',
  Program: 'caller_id:str type:"program"',
  ApplyPatchCallOutput:
    'call_id:str caller?:Direct2|Program2|null id?:null|str output?:null|str status:"completed"|"failed" type:"apply_patch_call_output"',
  Direct2: 'type:"direct"',
  Program2: 'caller_id:str type:"program"',
  CompactionTrigger: 'id?:null|str type:"compaction_trigger"',
  ComputerCallOutput:
    'acknowledged_safety_checks?:AcknowledgedSafetyCheck[]|null call_id:str id?:null|str output:ResponseComputerToolCallOutputScreenshot status?:"completed"|"in_progress"|"incomplete"|null type:"computer_call_output"',
  ResponseComputerToolCallOutputScreenshot:
    'file_id?:str image_url?:str type:"computer_screenshot"',
  AcknowledgedSafetyCheck: 'code?:null|str id:str message?:null|str',
  EasyInputMessage:
    'content:ResponseInputContent[]|str phase?:"commentary"|"final_answer"|null role:"assistant"|"developer"|"system"|"user" type?:"message"',
  ResponseInputContent: '= ResponseInputFile|ResponseInputImage|ResponseInputText',
  ResponseInputFile:
    'detail?:"auto"|"high"|"low" file_data?:str file_id?:null|str file_url?:str filename?:str prompt_cache_breakpoint?:PromptCacheBreakpoint type:"input_file"',
  PromptCacheBreakpoint: 'mode:"explicit" ttl?:"12h"|"30m"',
  ResponseInputImage:
    'detail:"auto"|"high"|"low"|"original" file_id?:null|str image_url?:null|str prompt_cache_breakpoint?:PromptCacheBreakpoint2 type:"input_image"',
  PromptCacheBreakpoint2: 'mode:"explicit" ttl?:"12h"|"30m"',
  ResponseInputText: 'prompt_cache_breakpoint?:PromptCacheBreakpoint3 text:str type:"input_text"',
  PromptCacheBreakpoint3: 'mode:"explicit" ttl?:"12h"|"30m"',
  FunctionCallOutput:
    'call_id?:null|str caller?:Direct3|Program3|null id?:null|str name?:null|str namespace?:null|str output:ResponseFunctionCallOutputItem[]|str status?:"completed"|"in_progress"|"incomplete"|null type:"function_call_output"',
  ResponseFunctionCallOutputItem:
    '= ResponseInputFileContent|ResponseInputImageContent|ResponseInputTextContent',
  ResponseInputFileContent:
    'detail?:"auto"|"high"|"low" file_data?:null|str file_id?:null|str file_url?:null|str filename?:null|str prompt_cache_breakpoint?:PromptCacheBreakpoint4|null type:"input_file"',
  PromptCacheBreakpoint4: 'mode:"explicit" ttl?:"12h"|"30m"',
  ResponseInputImageContent:
    'detail?:"auto"|"high"|"low"|"original"|null file_id?:null|str image_url?:null|str prompt_cache_breakpoint?:PromptCacheBreakpoint5|null type:"input_image"',
  PromptCacheBreakpoint5: 'mode:"explicit" ttl?:"12h"|"30m"',
  ResponseInputTextContent:
    'prompt_cache_breakpoint?:PromptCacheBreakpoint6|null text:str type:"input_text"',
  PromptCacheBreakpoint6: 'mode:"explicit" ttl?:"12h"|"30m"',
  Direct3: 'type:"direct"',
  Program3: 'caller_id:str type:"program"',
  ImageGenerationCall:
    'action?:"auto"|"edit"|"generate"|null background?:"auto"|"opaque"|"transparent"|null error?:Error id:str output_format?:"gif"|"jpeg"|"png"|"svg"|"webp"|null quality?:"auto"|"high"|"low"|"max"|"medium"|"xhigh"|null result:null|str revised_prompt?:null|str size?:null|str status:"completed"|"failed"|"generating"|"in_progress" svg_usage?:SvgUsage type:"image_generation_call"',
  Error: 'code:null|str message:str moderation_details?:ModerationDetails param:null|str type:str',
  ModerationDetails: 'categories:str[] moderation_stage:"input"|"output"|"unknown"',
  SvgUsage: 'input_tokens:num model:str output_tokens:num reasoning_tokens:num total_tokens:num',
  ItemReference: 'id:str type?:"item_reference"|null',
  LocalShellCall:
    'action:Action call_id:str id:str status:"completed"|"in_progress"|"incomplete" type:"local_shell_call"',
  Action:
    'command:str[] env:any timeout_ms?:null|num type:"exec" user?:null|str working_directory?:null|str',
  LocalShellCallOutput:
    'id:str output:str status?:"completed"|"in_progress"|"incomplete"|null type:"local_shell_call_output"',
  McpApprovalRequest: 'arguments:str id:str name:str server_label:str type:"mcp_approval_request"',
  McpApprovalResponse:
    'approval_request_id:str approve:bool id?:null|str reason?:null|str type:"mcp_approval_response"',
  McpCall:
    'approval_request_id?:null|str arguments:str error?:HTTPError|McpProtocolError|McpToolExecutionError|null id:str name:str output?:null|str server_label:str status?:"calling"|"completed"|"failed"|"in_progress"|"incomplete" type:"mcp_call"',
  HTTPError: 'code:num message:str type:"http_error"',
  McpProtocolError: 'code:num message:str type:"mcp_protocol_error"',
  McpToolExecutionError: 'content:any type:"mcp_tool_execution_error"',
  McpListTools: 'error?:null|str id:str server_label:str tools:Tool2[] type:"mcp_list_tools"',
  Tool2: 'annotations?:any description?:null|str input_schema:any name:str',
  Message:
    'content:ResponseInputContent[] role:"developer"|"system"|"user" status?:"completed"|"in_progress"|"incomplete" type?:"message"',
  Program4: 'call_id:str code:str fingerprint:str id:str type:"program"',
  ProgramOutput:
    'call_id:str id:str result:str status:"completed"|"incomplete" type:"program_output"',
  ResponseCodeInterpreterToolCall:
    'code:null|str container_id:str id:str outputs:Image2[]|Logs[]|null status:"completed"|"failed"|"in_progress"|"incomplete"|"interpreting" type:"code_interpreter_call"',
  Image2: 'type:"image" url:str',
  Logs: 'logs:str type:"logs"',
  ResponseCompactionItemParam: 'encrypted_content:str id?:null|str type:"compaction"',
  ResponseComputerToolCall:
    'action?:Click|DoubleClick|Drag|Keypress|Move|Screenshot|Scroll|Type|Wait actions?:ComputerAction[] call_id:str id:str pending_safety_checks:PendingSafetyCheck[] status:"completed"|"in_progress"|"incomplete" type:"computer_call"',
  PendingSafetyCheck: 'code?:null|str id:str message?:null|str',
  Click: 'button:"back"|"forward"|"left"|"right"|"wheel" keys?:null|str[] type:"click" x:num y:num',
  DoubleClick: 'keys:null|str[] type:"double_click" x:num y:num',
  Drag: 'keys?:null|str[] path:Path[] type:"drag"',
  Path: 'x:num y:num',
  Keypress: 'keys:str[] type:"keypress"',
  Move: 'keys?:null|str[] type:"move" x:num y:num',
  Screenshot: 'type:"screenshot"',
  Scroll: 'keys?:null|str[] scroll_x:num scroll_y:num type:"scroll" x:num y:num',
  Type: 'text:str type:"type"',
  Wait: 'type:"wait"',
  ComputerAction: '= Click2|DoubleClick2|Drag2|Keypress2|Move2|Screenshot2|Scroll2|Type2|Wait2',
  Click2:
    'button:"back"|"forward"|"left"|"right"|"wheel" keys?:null|str[] type:"click" x:num y:num',
  DoubleClick2: 'keys:null|str[] type:"double_click" x:num y:num',
  Drag2: 'keys?:null|str[] path:Path2[] type:"drag"',
  Path2: 'x:num y:num',
  Keypress2: 'keys:str[] type:"keypress"',
  Move2: 'keys?:null|str[] type:"move" x:num y:num',
  Screenshot2: 'type:"screenshot"',
  Scroll2: 'keys?:null|str[] scroll_x:num scroll_y:num type:"scroll" x:num y:num',
  Type2: 'text:str type:"type"',
  Wait2: 'type:"wait"',
  ResponseConfigurationUpdateItemParam:
    'id?:null|str reasoning?:Reasoning2 text?:Text2 type:"configuration_update"',
  Reasoning2: 'effort?:"high"|"low"|"max"|"medium"|"minimal"|"none"|"xhigh"|null',
  Text2: 'format:ResponseFormatText|ResponseFormatTextJSONSchemaConfig',
  ResponseFormatText: 'type:"text"',
  ResponseFormatTextJSONSchemaConfig:
    'description?:str name:str schema:any strict?:bool|null type:"json_schema"',
  ResponseCustomToolCall:
    'async?:bool call_id:str caller?:Direct4|Program5|null id?:str input:str name:str namespace?:str type:"custom_tool_call"',
  Direct4: 'type:"direct"',
  Program5: 'caller_id:str type:"program"',
  ResponseCustomToolCallOutput:
    'call_id:str caller?:Direct5|Program6|null id?:str output:ResponseInputFile[]|ResponseInputImage[]|ResponseInputText[]|str type:"custom_tool_call_output"',
  Direct5: 'type:"direct"',
  Program6: 'caller_id:str type:"program"',
  ResponseFileSearchToolCall:
    'id:str queries:str[] results?:Result[]|null status:"completed"|"failed"|"in_progress"|"incomplete"|"searching" type:"file_search_call"',
  Result: 'attributes?:any file_id?:str filename?:str score?:num text?:str',
  ResponseFunctionToolCall:
    'arguments:str async?:bool call_id:str caller?:Direct6|Program7|null id?:str name:str namespace?:str status?:"completed"|"in_progress"|"incomplete" type:"function_call"',
  Direct6: 'type:"direct"',
  Program7: 'caller_id:str type:"program"',
  ResponseFunctionWebSearch:
    'action:Find|OpenPage|Search id:str status:"completed"|"failed"|"in_progress"|"incomplete"|"searching" type:"web_search_call"',
  Find: 'pattern:str type:"find_in_page" url:str',
  OpenPage: 'type:"open_page" url?:null|str',
  Search: 'queries?:str[] query?:str sources?:Source[] type:"search"',
  Source: 'type:"url" url:str',
  ResponseOutputMessage:
    'content:ResponseOutputRefusal[]|ResponseOutputText[] id:str phase?:"commentary"|"final_answer"|null role:"assistant" status:"completed"|"in_progress"|"incomplete" type:"message"',
  ResponseOutputRefusal: 'refusal:str type:"refusal"',
  ResponseOutputText:
    'annotations:ContainerFileCitation[]|FileCitation[]|FilePath[]|URLCitation[] logprobs?:Logprob[] text:str type:"output_text"',
  ContainerFileCitation:
    'container_id:str end_index:num file_id:str filename:str start_index:num type:"container_file_citation"',
  FileCitation: 'file_id:str filename:str index:num type:"file_citation"',
  FilePath: 'file_id:str index:num type:"file_path"',
  URLCitation: 'end_index:num start_index:num title:str type:"url_citation" url:str',
  Logprob: 'bytes:num[] logprob:num token:str top_logprobs:TopLogprob[]',
  TopLogprob: 'bytes:num[] logprob:num token:str',
  ResponseReasoningItem:
    'content?:Content[] encrypted_content?:null|str id:str status?:"completed"|"in_progress"|"incomplete" summary:Summary[] type:"reasoning"',
  Summary: 'text:str type:"summary_text"',
  Content: 'text:str type:"reasoning_text"',
  ResponseToolSearchOutputItemParam:
    'call_id?:null|str execution?:"client"|"server" id?:null|str status?:"completed"|"in_progress"|"incomplete"|null tools:ApplyPatchTool[]|CodeInterpreter2[]|ComputerTool[]|ComputerUsePreviewTool[]|CustomTool[]|FileSearchTool[]|FunctionShellTool[]|FunctionTool[]|ImageGeneration2[]|LocalShell2[]|Mcp2[]|ProgrammaticToolCalling2[]|ToolSearchOutputNamespaceTool[]|ToolSearchTool[]|WebSearchPreviewTool[]|WebSearchTool[] type:"tool_search_output"',
  CodeInterpreter2:
    'allowed_callers?:"direct"[]|"programmatic"[]|null container:CodeInterpreterToolAuto2|str type:"code_interpreter"',
  CodeInterpreterToolAuto2:
    'file_ids?:str[] memory_limit?:"16g"|"1g"|"4g"|"64g"|null network_policy?:ContainerNetworkPolicyAllowlist|ContainerNetworkPolicyDisabled type:"auto"',
  ImageGeneration2:
    'action?:"auto"|"edit"|"generate" background?:"auto"|"opaque"|"transparent" complexity?:"high"|"low"|"medium" frame_count?:num frame_duration_ms?:num input_fidelity?:"high"|"low"|null input_image_mask?:InputImageMask2 model?:str moderation?:"auto"|"low" output_compression?:num output_format?:"gif"|"jpeg"|"png"|"svg"|"webp" partial_images?:num quality?:"auto"|"high"|"low"|"max"|"medium"|"xhigh" size?:str svg?:Svg2 type:"image_generation"',
  InputImageMask2: 'file_id?:str image_url?:str',
  Svg2: 'model?:str reasoning?:Reasoning3|null',
  Reasoning3: 'effort?:"high"|"low"|"max"|"medium"|"minimal"|"none"|"xhigh"',
  LocalShell2: 'type:"local_shell"',
  Mcp2: 'allowed_callers?:"direct"[]|"programmatic"[]|null allowed_tools?:McpToolFilter2|null|str[] authorization?:str connector_id?:"connector_dropbox"|"connector_gmail"|"connector_googlecalendar"|"connector_googledrive"|"connector_microsoftteams"|"connector_outlookcalendar"|"connector_outlookemail"|"connector_sharepoint" defer_loading?:bool headers?:any require_approval?:"always"|"never"|McpToolApprovalFilter2|null server_description?:str server_label:str server_url?:str tunnel_id?:str type:"mcp"',
  McpToolFilter2: 'read_only?:bool tool_names?:str[]',
  McpToolApprovalFilter2: 'always?:Always2 never?:Never2',
  Always2: 'read_only?:bool tool_names?:str[]',
  Never2: 'read_only?:bool tool_names?:str[]',
  ProgrammaticToolCalling2: 'type:"programmatic_tool_calling"',
  ToolSearchOutputNamespaceTool:
    'description:str name:str tools:CustomTool[]|Function2[] type:"namespace"',
  Function2:
    'allowed_callers?:"direct"[]|"programmatic"[]|null async?:bool defer_loading?:bool description?:null|str name:str output_schema?:any parameters?:any strict?:bool|null type:"function"',
  ShellCall:
    'action:Action2 call_id:str caller?:Direct7|Program8|null environment?:ContainerReference|LocalEnvironment|null id?:null|str status?:"completed"|"in_progress"|"incomplete"|null type:"shell_call"',
  Action2: 'commands:str[] max_output_length?:null|num timeout_ms?:null|num',
  Direct7: 'type:"direct"',
  Program8: 'caller_id:str type:"program"',
  ShellCallOutput:
    'call_id:str caller?:Direct8|Program9|null id?:null|str max_output_length?:null|num output:ResponseFunctionShellCallOutputContent[] status?:"completed"|"in_progress"|"incomplete"|null type:"shell_call_output"',
  ResponseFunctionShellCallOutputContent: 'outcome:Exit|Timeout stderr:str stdout:str',
  Exit: 'exit_code:num type:"exit"',
  Timeout: 'type:"timeout"',
  Direct8: 'type:"direct"',
  Program9: 'caller_id:str type:"program"',
  ToolSearchCall:
    'arguments:any call_id?:null|str execution?:"client"|"server" id?:null|str status?:"completed"|"in_progress"|"incomplete"|null type:"tool_search_call"',
  Moderation: 'model:str policy?:Policy|null',
  Policy: 'input?:Input|null output?:Output|null',
  Input: 'mode:"block"|"score"',
  Output: 'mode:"block"|"score"',
  ResponsePrompt: 'id:str variables?:any version?:null|str',
  PromptCacheOptions:
    'comparison_response_id?:null|str mode?:"explicit"|"implicit" prewarm?:bool ttl?:"12h"|"30m"',
  Reasoning4:
    'context?:"all_turns"|"auto"|"current_turn"|null effort?:"high"|"low"|"max"|"medium"|"minimal"|"none"|"xhigh"|null generate_summary?:"auto"|"concise"|"detailed"|null mode?:str summary?:"auto"|"concise"|"detailed"|null',
  StreamOptions: 'include_obfuscation?:bool',
  ResponseTextConfig:
    'format?:ResponseFormatJSONObject|ResponseFormatText|ResponseFormatTextJSONSchemaConfig verbosity?:"high"|"low"|"medium"|null',
  ResponseFormatJSONObject: 'type:"json_object"',
  SpecificProgrammaticToolCallingParam: 'type:"programmatic_tool_calling"',
  ToolChoiceAllowed: 'mode:"auto"|"required" tools:any[] type:"allowed_tools"',
  ToolChoiceApplyPatch: 'type:"apply_patch"',
  ToolChoiceCustom: 'name:str type:"custom"',
  ToolChoiceFunction: 'name:str type:"function"',
  ToolChoiceMcp: 'name?:null|str server_label:str type:"mcp"',
  ToolChoiceShell: 'type:"shell"',
  ToolChoiceTypes:
    'type:"code_interpreter"|"computer"|"computer_use"|"computer_use_preview"|"file_search"|"image_generation"|"mcp"|"web_search_preview"|"web_search_preview_2025_03_11"',
};
