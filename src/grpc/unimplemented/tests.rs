//! The list is of things that the API has.

use prost_reflect::DescriptorPool;

use super::*;
use crate::grpc::pb;

#[test]
fn the_list_has_no_rpc_that_the_api_has_not() {
    let pool = DescriptorPool::decode(pb::DESCRIPTOR).unwrap();
    let all: Vec<String> = pool
        .services()
        .flat_map(|service| {
            service.methods().map(|method| format!("{}.{}", service.name(), method.name())).collect::<Vec<_>>()
        })
        .collect();
    let features = features();
    for rpc in features.iter().filter(|feature| feature.contains("Service.")) {
        assert!(all.iter().any(|known| known == rpc), "{rpc}");
    }
}

#[test]
fn the_list_is_sorted_and_names_each_once() {
    let mut features = features();
    let before = features.clone();
    features.dedup();
    assert_eq!(features, before);
    assert!(features.is_sorted());
}

#[test]
fn reasons_are_those_of_the_api() {
    for reason in REASONS {
        assert!(pb::ErrorReason::from_str_name(&format!("ERROR_REASON_{reason}")).is_some(), "{reason}");
    }
}
