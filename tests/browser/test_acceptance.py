"""What each screen must do before it is accepted, and the test that shows it."""

import re
from pathlib import Path

TESTS = Path(__file__).parent.parent

# ruff: noqa: E501

POINTS = {
    "Opening: opening changes nothing": "faults/test_r23_opening.py::test_a_scanner_that_follows_every_link_twenty_times_changes_nothing",
    "Opening: no script needed": "test_states.py::test_opening_says_who_asks_for_what_needs_no_script_and_keeps_the_consent",
    "Code: wrong, old and sixth try each with its sentence": "test_states.py::test_a_code_is_typed_into_one_box_sent_again_and_refused_when_wrong_old_or_the_sixth",
    "Signing: touch": "test_signing_page.py::test_a_touch_run_seals_what_a_finger_drew_as_vectors_and_turning_keeps_the_drawing",
    "Signing: keyboard": "test_signing_page.py::test_a_keyboard_run_seals",
    "Signing: no script": "test_signing.py::test_a_run_without_script_seals_a_typed_signature_and_two_documents_never_mix",
    "Signing: reload and another device resume": "test_signing_page.py::test_a_reload_and_another_device_resume_with_what_was_filled_in",
    "Signing: two tabs never mix": "test_signing_page.py::test_two_tabs_never_mix",
    "Read as text: in reading order": "test_text.py::test_every_page_s_text_is_in_reading_order_with_fields_as_links_at_their_place",
    "Read as text: scans say that there is no text": "test_text.py::test_scans_say_that_there_is_no_text_and_a_packet_has_a_heading_for_each_document",
    "Decline: document and mail say so": "test_states.py::test_a_decline_says_what_follows_and_is_done_without_script",
    "Done: finalizing, then the sealed file, without reload": "test_states.py::test_done_shows_finalizing_and_then_the_sealed_file_without_reload",
    "Closed: all eight seen": "test_states.py::test_all_eight_closed_states_have_a_page_each_that_names_sender_and_next_step",
    "Packet: three documents, one link": "test_signing_page.py::test_a_packet_of_three_documents_is_signed_by_one_link_in_one_act",
    "Packet: decline ends all": "test_signing_page.py::test_a_decline_ends_all_documents_of_a_packet",
    "First run: from start to a sealed document": "test_newcomer.py::test_from_the_first_start_to_a_sealed_document_with_nothing_read",
    "Documents: live, filters in the address": "test_documents.py::test_documents_are_live_and_filters_are_in_the_address",
    "New: PDF, DOCX, HTML, image; encrypted refused": "test_sending.py::test_pdf_word_html_and_images_are_taken_and_an_encrypted_one_is_refused_beside_its_file",
    "People: 2 of 3, then a second stage; duplicates named": "test_sending.py::test_two_of_three_and_then_a_second_stage_duplicates_named_and_nothing_leaves_before_send",
    "Editor: 40 fields on 20 pages; API reads what was placed": "test_editor.py::test_40_fields_on_20_pages_are_placed_by_dragging_and_pressing_and_read_back",
    "Editor: undo 100 deep": "test_editor.py::test_steps_are_undone_100_deep_and_done_again",
    "Review: nothing leaves before": "api/signing/test_drafting.py::test_nothing_leaves_before_send_and_a_double_press_sends_once",
    "Document: every state": "api/signing/test_document_page.py::test_every_state_has_its_sentence",
    "Document: void asks why": "api/signing/test_document_page.py::test_void_asks_why_and_tells_it",
    "Document: chain shown whole": "api/signing/test_document_page.py::test_the_timeline_tells_who_did_what_from_where_and_that_the_chain_is_whole",
    "Document: chain shown broken": "api/signing/test_document_page.py::test_a_broken_chain_is_shown_with_its_row",
    "Templates: sent documents stay as they were": "api/signing/test_template_pages.py::test_changing_a_template_leaves_sent_documents_as_they_were",
    "Packets: events in order": "api/signing/test_packet_pages.py::test_a_packet_s_events_stand_in_order_each_once",
    "Bulk: 10,000 rows": "api/signing/test_bulk_pages.py::test_ten_thousand_rows_are_checked_and_none_of_them_stands_in_the_page",
    "Bulk: close, reopen, same bar": "test_batches.py::test_a_bulk_send_goes_from_a_table_to_a_bar_that_stays_when_it_is_closed",
    "Bulk: kill, exactly once": "faults/test_bulk_kill.py::test_each_row_is_sent_once_across_kills",
    "Mail: invitations open from here": "test_newcomer.py::test_from_the_first_start_to_a_sealed_document_with_nothing_read",
    "Mail: log, errors, resend": "test_keys_and_hooks.py::test_the_log_of_mails_shows_errors_and_sends_again",
    "Usage: figures equal the database": "api/search/test_usage.py::test_the_figures_of_documents_equal_the_database",
    "Keys: the copied curl answers 200; revoked, 401": "test_keys_and_hooks.py::test_the_copied_curl_answers_200_and_revoked_the_next_is_401",
    "Webhooks: failing red, redelivered green, same bytes": "test_keys_and_hooks.py::test_a_webhook_of_the_page_is_red_while_its_sink_fails_and_green_once_redelivered",
    "Webhooks: the signature over the body": "api/hooks/test_hook_pages.py::test_a_sink_verifies_the_signature_of_a_webhook_made_on_the_page",
    "Members: the last owner stays": "api/test_members.py::test_the_last_owner_stays",
    "Members: each role × each page": "api/test_roles.py::test_every_page_opens_to_the_roles_that_have_its_scope_and_to_nobody_else",
    "Branding: signer, mail and certificate follow": "api/test_settings_pages.py::test_signer_mail_and_certificate_follow_the_branding",
    "Settings: every setting shown; no secret": "api/test_settings_pages.py::test_every_setting_of_the_reference_is_shown_and_no_secret",
    "Search: works as plain GET": "api/search/test_pages.py::test_search_works_as_plain_get",
    "Search: nothing found suggests what to try": "api/search/test_pages.py::test_nothing_found_suggests_what_to_try",
    "Search: model missing says how": "api/search/test_pages.py::test_model_missing_says_how",
    "Library: failures keep their reason": "api/search/test_pages.py::test_failures_keep_their_reason",
    "Library: deleted is gone from the next answer": "api/search/test_pages.py::test_a_file_that_is_added_becomes_searchable_and_deleted_is_gone_from_the_next_answer",
    "Verify: each verdict": "api/signing/test_verify_page.py::test_each_verdict_is_one_sentence_with_icon_and_word",
    "Verify: nothing kept": "api/signing/test_verify_page.py::test_nothing_of_a_checked_file_is_kept",
    "Verify: 10 a minute": "api/signing/test_verify_page.py::test_an_address_has_ten_files_checked_a_minute_and_then_is_told_to_wait",
    "API: each operation": "api/test_reference.py::test_each_operation_of_the_description_is_on_it",
    "API: the key never in address or storage": "test_search.py::test_the_reference_tries_an_operation_and_the_key_is_never_in_address_or_storage",
}  # fmt: skip
"""By screen; a test without a folder is one of this folder."""


def test_each_point_names_a_test_that_there_is() -> None:
    missing = []
    for point, named in POINTS.items():
        path, name = named.split("::")
        file = TESTS / path if "/" in path else TESTS / "browser" / path
        if not file.is_file() or not re.search(rf"^(async )?def {name}\(", file.read_text(encoding="utf-8"), re.M):
            missing.append(f"{point}: {named}")
    assert missing == []
